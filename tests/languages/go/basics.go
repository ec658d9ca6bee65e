// One program, many modes: the first argument says which.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func stdin() {
	count, sum := 0, 0
	scanner := bufio.NewScanner(os.Stdin)
	for scanner.Scan() {
		number, err := strconv.Atoi(scanner.Text())
		check(err)
		count++
		sum += number
	}
	fmt.Printf("%d lines, sum %d\n", count, sum)
}

func files() {
	check(os.WriteFile("made.txt", []byte("one\n"), 0o644))
	made, err := os.OpenFile("made.txt", os.O_APPEND|os.O_WRONLY, 0)
	check(err)
	_, err = made.WriteString("two\n")
	check(err)
	check(made.Close())
	text, err := os.ReadFile("made.txt")
	check(err)
	fmt.Print(string(text))
}

func memory() {
	var kept [][]byte
	for {
		block := make([]byte, 1<<20)
		for i := range block {
			block[i] = byte(i)
		}
		kept = append(kept, block)
	}
}

func main() {
	words := os.Args[2:]
	switch os.Args[1] {
	case "args":
		for _, word := range words {
			fmt.Printf("[%s]\n", word)
		}
	case "stdin":
		stdin()
	case "files":
		files()
	case "exit":
		os.Exit(7)
	case "uncaught":
		panic("deliberate")
	case "forever":
		for {
		}
	case "memory":
		memory()
	case "unicode":
		fmt.Println("Grüße, 世界 🌍", words[0], utf8.RuneCountInString(words[0]))
	case "big":
		out := bufio.NewWriter(os.Stdout)
		defer out.Flush()
		for i := 0; i < 40000; i++ {
			fmt.Fprintln(out, strings.Repeat("x", 63))
		}
	}
}
