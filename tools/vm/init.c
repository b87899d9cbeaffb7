// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of the test VM: mount, run one command, report, power off.
 *
 * The root file system is the host's own, read-only, so that a test finds the
 * compiler's libraries and nothing has to be packed.  The verdict goes to a
 * serial port that nobody else writes, and its last line is written last: a VM
 * that dies on the way cannot look as if it had passed.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT	"/root.host"
#define JOB	"/tmp/job"

static FILE *verdict;

static void die(const char *what)
{
	if (verdict) {
		fprintf(verdict, "error %s: %s\n", what, strerror(errno));
		fflush(verdict);
	}
	reboot(RB_POWER_OFF);
}

static void attach(const char *dev, const char *dir, const char *type,
		   unsigned long flags, const char *data)
{
	mkdir(dir, 0755);
	if (mount(dev, dir, type, flags, data))
		die(dir);
}

/* A repository below /tmp must not vanish under the tmpfs there. */
static void mount_tmp(void)
{
	const char *top = getenv("top");
	char path[4096], fd_path[64], *slash;
	int fd = -1;

	if (top && !strncmp(top, "/tmp/", 5)) {
		snprintf(path, sizeof(path), ROOT "%s", top);
		fd = open(path, O_PATH | O_DIRECTORY);
		if (fd < 0)
			die(path);
	}
	attach("tmp", ROOT "/tmp", "tmpfs", 0, NULL);
	if (fd < 0)
		return;
	for (slash = path + strlen(ROOT "/tmp/"); (slash = strchr(slash, '/')); ) {
		*slash = 0;
		mkdir(path, 0755);
		*slash++ = '/';
	}
	snprintf(fd_path, sizeof(fd_path), ROOT "/proc/self/fd/%d", fd);
	attach(fd_path, path, NULL, MS_BIND, NULL);
	close(fd);
}

static void mount_all(void)
{
	attach("host", ROOT, "9p", MS_RDONLY,
	       "trans=virtio,version=9p2000.L,msize=262144,cache=loose");
	attach("proc", ROOT "/proc", "proc", 0, NULL);
	attach("sys", ROOT "/sys", "sysfs", 0, NULL);
	attach("dev", ROOT "/dev", "devtmpfs", 0, NULL);
	attach("debug", ROOT "/sys/kernel/debug", "debugfs", 0, NULL);
	mount_tmp();
	mkdir(ROOT JOB, 0755);
	attach("job", ROOT JOB, "9p", 0,
	       "trans=virtio,version=9p2000.L,msize=262144");
	if (chroot(ROOT) || chdir("/tmp"))
		die("chroot");
}

/* The command's terminal: raw, or each newline would become two bytes. */
static void run_command(void)
{
	int fd = open("/dev/ttyS1", O_RDWR);

	setsid();
	if (fd < 0)
		_exit(126);
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(fd, 1);
	dup2(fd, 2);
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("TERM", "dumb", 1);
	execl("/bin/bash", "bash", JOB "/command", (char *)NULL);
	_exit(127);
}

static int is_kernel_thread(int pid)
{
	char path[64], line[512];
	int ppid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 1;
	if (fgets(line, sizeof(line), f) && strrchr(line, ')'))
		sscanf(strrchr(line, ')') + 1, " %*c %d", &ppid);
	fclose(f);
	return pid == 2 || ppid == 2;
}

/* A test that leaves a process behind did not end. */
static int count_left(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int left = 0;

	while (dir && (e = readdir(dir))) {
		int pid = atoi(e->d_name);

		if (!isdigit(e->d_name[0]) || pid == 1 || is_kernel_thread(pid))
			continue;
		left++;
	}
	if (dir)
		closedir(dir);
	return left;
}

int main(void)
{
	int status = 0, code, left, tries;
	pid_t child;

	attach("dev", "/dev", "devtmpfs", 0, NULL);
	verdict = fopen("/dev/ttyS2", "w");
	mount_all();

	child = fork();
	if (!child)
		run_command();
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

	/* What was killed may need a moment to end; what ends is ours to reap. */
	for (tries = 0; tries < 10; tries++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		left = count_left();
		if (!left)
			break;
		usleep(100000);
	}
	fprintf(verdict, "status %d\nleft %d\nend\n", code, left);
	fflush(verdict);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
