# One program, many modes: the goal says which.
LINE := $(shell printf "x%.0s" $$(seq 63))

stdin:
	@awk "{ sum += \$$1 } END { print NR \" lines, sum \" sum }"

files:
	@echo one >made.txt
	@echo two >>made.txt
	@cat made.txt

exit:
	@exit 7

uncaught:
	$(error deliberate)

forever:
	@while :; do :; done

memory:
	@awk "BEGIN { for (;; i++) kept[i] = sprintf(\"%100000d\", i) }"

unicode:
	@echo "Grüße, 世界 🌍"

big:
	@yes $(LINE) | head -n 40000

.PHONY: stdin files exit uncaught forever memory unicode big
