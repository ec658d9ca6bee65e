; native int f();
; if: native
((modifiers) @code
 (#match? @code "native")
 (#set! rule "java.native"))
