; What reaches into other packages and libraries stands in comments that the compiler reads.
; if: go:linkname go:cgo_
((comment) @code
 (#match? @code "^//go:(linkname|cgo_)")
 (#set! rule "go.native"))
