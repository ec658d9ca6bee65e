// A JSON reader and writer by hand, checked against itself and the standard library.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

var errWrong = errors.New("wrong")

type reader struct {
	text string
	at   int
}

func fail(format string, words ...any) {
	panic(fmt.Errorf("%w: %s", errWrong, fmt.Sprintf(format, words...)))
}

func (r *reader) peek() byte {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

func (r *reader) take(wanted byte) {
	if r.peek() != wanted {
		fail("expected %c at %d", wanted, r.at)
	}
	r.at++
}

func (r *reader) value() any {
	literals := map[string]any{"true": true, "false": false, "null": nil}
	switch r.peek() {
	case '{':
		return r.members()
	case '[':
		return r.items()
	case '"':
		return r.str()
	}
	for word, meaning := range literals {
		if strings.HasPrefix(r.text[r.at:], word) {
			r.at += len(word)
			return meaning
		}
	}
	return r.number()
}

func (r *reader) members() any {
	found := map[string]any{}
	r.take('{')
	for r.peek() != '}' {
		if len(found) > 0 {
			r.take(',')
		}
		key := r.str()
		r.take(':')
		found[key] = r.value()
	}
	r.take('}')
	return found
}

func (r *reader) items() any {
	found := []any{}
	r.take('[')
	for r.peek() != ']' {
		if len(found) > 0 {
			r.take(',')
		}
		found = append(found, r.value())
	}
	r.take(']')
	return found
}

func (r *reader) str() string {
	escapes := map[byte]string{'n': "\n", 't': "\t", '/': "/", '\\': "\\", '"': "\""}
	var out strings.Builder
	for r.take('"'); ; r.at++ {
		if r.at >= len(r.text) {
			fail("a string does not end")
		}
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return out.String()
		case c != '\\':
			out.WriteByte(c)
		case r.text[r.at+1] == 'u':
			code, err := strconv.ParseUint(r.text[r.at+2:r.at+6], 16, 16)
			if err != nil {
				fail("%v", err)
			}
			out.WriteRune(rune(code))
			r.at += 5
		default:
			r.at++
			out.WriteString(escapes[r.text[r.at]])
		}
	}
}

func (r *reader) number() any {
	start := r.at
	for r.at < len(r.text) && strings.IndexByte("+-0123456789.eE", r.text[r.at]) >= 0 {
		r.at++
	}
	number, err := strconv.ParseFloat(r.text[start:r.at], 64)
	if err != nil {
		fail("no value at %d", start)
	}
	return number
}

func read(text string) (value any, err error) {
	defer func() {
		if broken, ok := recover().(error); ok {
			err = broken
		}
	}()
	r := &reader{text: text}
	value = r.value()
	if r.peek() != 0 {
		fail("something follows")
	}
	return value, nil
}

var quoter = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\t", "\\t")

func write(value any) string {
	var parts []string
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			parts = append(parts, "\""+quoter.Replace(key)+"\":"+write(item))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		for _, item := range v {
			parts = append(parts, write(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return "\"" + quoter.Replace(v) + "\""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case nil:
		return "null"
	default:
		return fmt.Sprint(v)
	}
}

func count(value any, depth int, totals map[string]int) {
	enter := func(kind string) {
		totals[kind]++
		if depth > totals["depth"] {
			totals["depth"] = depth
		}
	}
	switch v := value.(type) {
	case map[string]any:
		enter("objects")
		for _, item := range v {
			count(item, depth+1, totals)
		}
	case []any:
		enter("arrays")
		for _, item := range v {
			count(item, depth+1, totals)
		}
	case string:
		totals["strings"]++
	case float64:
		totals["numbers"]++
	default:
		totals["literals"]++
	}
}

func main() {
	source, _ := io.ReadAll(os.Stdin)
	document, err := read(string(source))
	var expected any
	if err != nil || json.Unmarshal(source, &expected) != nil || !reflect.DeepEqual(document, expected) {
		panic("not what the standard library reads")
	}
	canonical := write(document)
	again, err := read(canonical)
	totals := map[string]int{}
	count(document, 1, totals)
	fmt.Println(canonical)
	var words []string
	for _, name := range []string{"objects", "arrays", "strings", "numbers", "literals", "depth"} {
		words = append(words, fmt.Sprintf("%s=%d", name, totals[name]))
	}
	fmt.Println(strings.Join(words, " "))
	fmt.Println("round trip", map[bool]string{true: "ok", false: "broken"}[err == nil && write(again) == canonical])
	rejected := 0
	for _, text := range []string{"{", "[1,]", `{"a" 1}`} {
		if _, err := read(text); errors.Is(err, errWrong) {
			rejected++
		}
	}
	fmt.Println("rejected", rejected, "of 3")
}
