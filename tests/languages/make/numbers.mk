# Arithmetic without numbers: they are lists of words. Then sorting, recursion and tables, all by make.
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
.PHONY: all primes fibonacci hanoi euclid words sorted

# ---- numbers are lists of x ----

# $(call number,N): a list of N x.
digits := 0 1 2 3 4 5 6 7 8 9
ten := x x x x x x x x x x
unit_0 :=
unit_1 := x
unit_2 := x x
unit_3 := x x x
unit_4 := x x x x
unit_5 := x x x x x
unit_6 := x x x x x x
unit_7 := x x x x x x x
unit_8 := x x x x x x x x
unit_9 := x x x x x x x x x
spread = $(subst 9,9 ,$(subst 8,8 ,$(subst 7,7 ,$(subst 6,6 ,$(subst 5,5 ,$(spread_low))))))
spread_low = $(subst 4,4 ,$(subst 3,3 ,$(subst 2,2 ,$(subst 1,1 ,$(subst 0,0 ,$(1))))))
tens = $(foreach x,$(1),$(ten))
number = $(strip $(call number_of,,$(call spread,$(1))))
number_of = $(if $(2),$(call number_of,$(call tens,$(1)) $(unit_$(firstword $(2))),$(wordlist 2,99,$(2))),$(1))
decimal = $(words $(1))

# ---- arithmetic on them ----

plus = $(strip $(1) $(2))
minus = $(strip $(wordlist $(words x $(2)),$(words $(1)),$(1)))
times = $(strip $(foreach x,$(1),$(2)))
at_least = $(filter $(words $(1)),$(words $(call larger,$(1),$(2))))
larger = $(subst xx,x,$(join $(1),$(2)))
less = $(if $(call at_least,$(1),$(2)),,yes)
modulo = $(if $(call less,$(1),$(2)),$(1),$(call modulo,$(call minus,$(1),$(2)),$(2)))
count_to = $(if $(filter $(words $(2)),$(1)),,$(words x $(2)) $(call count_to,$(1),x $(2)))
range = $(strip $(call count_to,$(1)))

# ---- primes: a number that no smaller prime divides ----

divides = $(if $(call modulo,$(call number,$(2)),$(call number,$(1))),,yes)
has_divisor = $(strip $(foreach prime,$(2),$(if $(call divides,$(prime),$(1)),$(prime))))
sieve = $(if $(1),$(call sieve,$(wordlist 2,999,$(1)),$(2) $(if $(call has_divisor,$(firstword $(1)),$(2)),,$(firstword $(1)))),$(2))

primes:
	@echo "primes: $(strip $(call sieve,$(wordlist 2,50,$(call range,50)),))"

# ---- Fibonacci, as lists ----

fibonacci_step = $(if $(3),$(call fibonacci_step,$(2),$(call plus,$(1),$(2)),$(wordlist 2,99,$(3))),$(words $(1)))
fibonacci_of = $(call fibonacci_step,,x,$(call number,$(1)))

fibonacci:
	@echo "fibonacci: $(foreach n,1 2 3 5 8 13 16,$(call fibonacci_of,$(n)))"

# ---- the towers ----

hanoi_moves = $(if $(1),$(call hanoi_moves,$(wordlist 2,99,$(1)),$(2),$(4),$(3)) $(2)$(3) $(call hanoi_moves,$(wordlist 2,99,$(1)),$(4),$(3),$(2)))

hanoi:
	@echo "hanoi: $(words $(call hanoi_moves,x x x x x x,A,B,C)) moves, $(wordlist 1,7,$(strip $(call hanoi_moves,x x x,A,B,C)))"

# ---- Euclid, powers and a square root ----

gcd = $(if $(2),$(call gcd,$(2),$(call modulo,$(1),$(2))),$(1))
gcd_of = $(words $(call gcd,$(call number,$(1)),$(call number,$(2))))
power = $(if $(2),$(call times,$(1),$(call power,$(1),$(wordlist 2,99,$(2)))),x)
power_of = $(words $(call power,$(call number,$(1)),$(call number,$(2))))
square = $(call times,$(1),$(1))
root = $(if $(call at_least,$(1),$(call square,x $(2))),$(call root,$(1),x $(2)),$(2))
root_of = $(words $(call root,$(call number,$(1)),))

euclid:
	@echo "gcd: $(call gcd_of,48,36) $(call gcd_of,17,5) power: $(call power_of,2,9) $(call power_of,3,5) root: $(call root_of,90)"

# ---- words ----

text := the cat sat on the mat and the dog sat on the cat
different := $(sort $(text))
count_word = $(words $(filter $(1),$(text)))
reverse = $(if $(1),$(call reverse,$(wordlist 2,99,$(1))) $(firstword $(1)))

words:
	@echo "words: $(foreach word,$(different),$(word)=$(call count_word,$(word)))"
	@echo "reversed:$(call reverse,$(wordlist 1,5,$(text)))"

# ---- sorted by number: insertion ----

insert = $(if $(2),$(if $(call at_least,$(call number,$(firstword $(2))),$(call number,$(1))),$(1) $(2),$(firstword $(2)) $(call insert,$(1),$(wordlist 2,99,$(2)))),$(1))
insertion_sort = $(if $(1),$(call insert,$(firstword $(1)),$(call insertion_sort,$(wordlist 2,99,$(1)))))

sorted:
	@echo "sorted: $(strip $(call insertion_sort,30 4 12 99 1 57 4))"

# ---- arithmetic, checked by the shell ----

define check_sum
sum-$(1)-$(2):
	@test $$(words $$(call plus,$$(call number,$(1)),$$(call number,$(2)))) = $$$$(($(1) + $(2)))
	@test $$(words $$(call times,$$(call number,$(1)),$$(call number,$(2)))) = $$$$(($(1) * $(2)))
	@test $$(words $$(call modulo,$$(call number,$(1)),$$(call number,$(2)))) = $$$$(($(1) % $(2)))
checks += sum-$(1)-$(2)
endef
$(foreach a,7 12 30,$(foreach b,1 5 11,$(eval $(call check_sum,$(a),$(b)))))

all: primes fibonacci hanoi euclid words sorted $(checks)
	@echo "checks: $(words $(checks))"
