# The doors for people; Meson and Ninja do the work. `make` builds, `make test` sets everything up
# and runs every test, `make help` names the rest.

.DEFAULT_GOAL := all
.PHONY: all help test test-unit test-integration test-languages test-escape test-vm test-asan test-fresh test-python wheel lint format \
        fuzz soak soak-once bench bench-check install clean wasm test-wasm test-docker

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60

all: ## build the program and the library in build/
	@tools/build-once --force

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

test: test-tools language-tools vm-tools client-tools engine-tools all ## every test: lint, unit, integration, languages, escape, Python package, sanitizers, virtual machine, wasm
	@tools/run-tests

test-unit: ## the unit tests alone
test-integration: ## the tests by behaviour alone
test-escape: ## the hostile programs alone
test-asan: ## unit and integration tests with the sanitizers
test-unit test-integration test-escape test-asan: test-%: test-tools all
	@tools/run-tests $*

test-languages: test-tools language-tools all ## programs in every language alone
	@tools/run-tests languages

test-warm: test-tools language-tools all ## languages and hostile programs again, started warm
	@tools/run-tests warm

test-vm: test-tools vm-tools all ## limits and escapes again on cgroup v2, in a virtual machine
	@tools/run-tests vm

test-python: test-tools all ## the Python package, in virtual environments made from scratch
	@tools/run-tests python

wheel: test-tools all ## a wheel of the Python package that carries the library, in build/wheels
	@tools/make-wheel

wasm: all ## build what the wasm backend runs (once, some minutes): engine, Python, JavaScript
	@tools/bootstrap wasm
	@tools/build-wasm

test-wasm: test-tools wasm ## the wasm backend alone, with all of CPython's own tests that apply
	@tools/run-tests wasm-all

test-docker: test-tools engine-tools all ## the docker backend alone, all of it on Docker and on Podman
	@tools/run-tests docker

lint: test-tools all ## format, layers, cppcheck, clang-tidy, shellcheck
	@tools/run-tests lint

# Where QEMU or a toolchain cannot be installed, the tests that need it are skipped and say so.
.PHONY: test-tools language-tools vm-tools client-tools engine-tools
test-tools:
	@tools/bootstrap build test
language-tools:
	@tools/bootstrap languages || true
vm-tools:
	@tools/bootstrap vm || true
client-tools:
	@tools/bootstrap clients || true
engine-tools:
	@tools/bootstrap engines || true

format: test-tools ## write the sources as .clang-format says
	@find src include tools examples bench tests/unit tests/fuzz -name '*.[ch]' -exec clang-format -i {} +

fuzz: test-tools ## each fuzz target for FUZZ_SECONDS (60)
	@tools/fuzz $(FUZZ_SECONDS)

soak: test-tools wasm ## slow tests: kill -9 of the supervisor at random moments, 30,000 warm runs
	@tools/soak
	@tools/soak-warm
	@tools/soak-warm 10000 wasm

soak-once: test-tools ## some hundred runs each of interpreters that wait for one run: JavaScript and Java
	@tools/soak-warm 400 container javascript
	@tools/soak-warm 200 container java

bench: all ## the overhead on this machine, beside other sandboxes, with a chart in build/bench.svg
	@tools/bootstrap bench || true
	@build/src/cli/sandbox bench --compare --svg build/bench.svg

bench-check: all ## fails where a ratio is more than 30 % worse than in bench/baseline.json
	@build/src/cli/sandbox bench --check bench/baseline.json

test-fresh: ## the way from nothing, with all languages, in a clean Debian in a folder (needs root)
	@tools/fresh-machine-test --languages

install: all ## to PREFIX (/usr/local), under DESTDIR
	@meson configure build -Dprefix=$(abspath $(PREFIX)) >/dev/null
	DESTDIR=$(DESTDIR) meson install -C build
	@if [ -e build/wasm/about.json ]; then \
		install -d "$(DESTDIR)$(abspath $(PREFIX))/libexec/sandbox/wasm" && \
		install -m 644 build/wasm/* "$(DESTDIR)$(abspath $(PREFIX))/libexec/sandbox/wasm"; fi

clean: ## remove what was built
	rm -rf build build-asan build-fuzz
