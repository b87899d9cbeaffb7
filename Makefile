# SPDX-License-Identifier: GPL-2.0-only
# The front door.  Each target is one tool; see Documentation/testing.rst.

top	:= $(CURDIR)
build	:= $(top)/build
stock	:= $(build)/6.12/stock
patched	:= $(build)/6.12/patched
T	?=
CONFIG	?=
# Not for the kernel's own make.
MAKEOVERRIDES =
unexport T CONFIG

help:
	@echo "make run            build, boot, measure: MSI, RESAMPLE, LEVEL, stock beside patched"
	@echo "make check [T=NAME] all tests, or one; the last line counts them"
	@echo "make check CONFIG=C those that run on the patched kernel, on a kernel configured so:"
	@echo "                    preempt, rt or debug"
	@echo "make check-all      all tests, and all of those"
	@echo "make list           the tests"
	@echo "make kernel         the stock and the patched kernel; CONFIG=C as well"
	@echo "make bench          the measurements"
	@echo "make results        the measurements, into Documentation/results"
	@echo "make shell          a root shell in the VM, patched kernel"
	@echo "make style          shellcheck, checkpatch, W=1, sparse"
	@echo "make mutants        does each kernel broken on purpose fail a test?"
	@echo "make patches-check  does the series fit two 6.12.y?"
	@echo "make paths          where images, trees and results are"
	@echo "make deps           install what is missing"
	@echo "make clean          remove build"

deps:
	@tools/deps

kernel: deps
	@tools/kernel/build $(CONFIG)

selftests: kernel
	@tools/selftests/build

run bench: selftests
	@tools/bench/run

results: selftests
	@SAVE=$(top)/Documentation/results/bench-6.12.txt tools/bench/run

check: deps
	@tools/check $(if $(CONFIG),--config $(CONFIG)) $(T)

check-all: check
	@for c in preempt rt debug; do tools/check --config $$c || exit 1; done

list:
	@tools/check --list

shell: kernel
	@tools/vm/run --kernel $(patched)/arch/x86/boot/bzImage --smp 2 --interactive -- bash -i

style: kernel
	@tools/style

mutants: selftests
	@tools/mutants

patches-check: deps
	@tools/patches/check

paths:
	@echo "stock-image=$(stock)/arch/x86/boot/bzImage"
	@echo "patched-image=$(patched)/arch/x86/boot/bzImage"
	@echo "stock-tree=$(stock)"
	@echo "patched-tree=$(patched)"
	@echo "results=$(build)/results"

clean:
	rm -rf $(build)

.PHONY: help deps kernel selftests run bench results check check-all list shell style mutants patches-check paths clean
