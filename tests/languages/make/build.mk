# A small build: generated sources, pattern rules, order, parallel work, a second call that does nothing.
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
SHELL := /bin/sh
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY: # what is generated on the way is kept
.PHONY: all first second touched report clean check order

me := $(abspath $(lastword $(MAKEFILE_LIST)))
modules := alpha beta gamma delta
words_alpha := one two three
words_beta := four five
words_gamma := six seven eight nine
words_delta := ten
objects := $(modules:%=out/%.o)
again := $(MAKE) -s -f $(me)

all: first second touched order check
	@rm -rf out log tools

# Everything is made once, by several jobs at a time.
first:
	@$(again) -j4 report
	@echo "built $$(wc -l <log | tr -d ' ') times"

# Nothing is made again.
second: first
	@: >log
	@$(again) -j4 report
	@echo "built again $$(wc -l <log | tr -d ' ') times"

# One source changes: its object and what is linked are made again, and nothing else.
touched: second
	@: >log
	@find out tools -type f -exec touch -d '1 hour ago' {} +
	@echo eleven >>out/delta.txt
	@$(again) report
	@sort log

report: out/program
	@cat out/program

# The sources are generated from variables of this file.
out/%.txt: | out
	@printf '%s\n' $(words_$*) >$@
	@echo "generate $*" >>log

# "Compiled": upper case and counted, by a tool that is made first.
out/%.o: out/%.txt tools/upper
	@tools/upper <$< >$@
	@echo "compile $*" >>log

out/program: $(objects)
	@for object in $^; do \
		printf '%s:' "$$(basename "$$object" .o)"; \
		tr '\n' ' ' <"$$object"; \
		wc -l <"$$object" | tr -d ' '; \
	done >$@
	@echo link >>log

tools/upper: | tools
	@printf '#!/bin/sh\nexec tr a-z A-Z\n' >$@
	@chmod +x $@
	@echo "make the tool" >>log

out tools:
	@mkdir -p $@

# Order-only, double-colon and target-specific things.
order: prefix := >
order: order-one order-two
	@echo "$(prefix) order"

order-one order-two:
	@echo "$(prefix) $@"

order-two: order-one

steps:: first-step
	@echo "steps, once"
steps::
	@echo "steps, twice"
first-step:
	@echo "before the steps"

# What make says by itself.
define compare
ifneq ($(1),$(2))
  $$(error $(3): '$(1)' is not '$(2)')
endif
checked += $(3)
endef

$(eval $(call compare,$(words $(modules)),4,words))
$(eval $(call compare,$(firstword $(modules)),alpha,firstword))
$(eval $(call compare,$(sort b a c a),a b c,sort))
$(eval $(call compare,$(filter %.o,$(objects) x.c),$(objects),filter))
$(eval $(call compare,$(filter-out al% be%,$(modules)),gamma delta,filter-out))
$(eval $(call compare,$(notdir $(basename out/x.tar.gz)),x.tar,basename))
$(eval $(call compare,$(patsubst %.c,%.o,a.c b.h),a.o b.h,patsubst))
$(eval $(call compare,$(subst e,E,feet),fEEt,subst))
$(eval $(call compare,$(or ,$(and 1,),last),last,or))
$(eval $(call compare,$(join a b,.1 .2),a.1 b.2,join))
$(eval $(call compare,$(wordlist 2,3,a b c d),b c,wordlist))
$(eval $(call compare,$(addsuffix .x,$(addprefix y,1 2)),y1.x y2.x,addprefix))
$(eval $(call compare,$(origin CC) $(flavor modules),default simple,origin))
$(eval $(call compare,$(shell echo $$((6 * 7))),42,shell))

check: steps
	@echo "checked $(words $(checked)): $(checked)"

clean:
	@rm -rf out tools log
