; if: asm
((gnu_asm_expression) @code
 (#set! rule "c.assembly"))

; int main[] = { ... };
; if: main
((array_declarator declarator: (identifier) @code)
 (#eq? @code "main")
 (#set! rule "c.assembly"))

; while (1) fork();   for (;;) fork();
; if: fork
((while_statement
   body: (expression_statement (call_expression function: (identifier) @call)))
 (#resolves? @call "fork" "vfork")
 (#set! rule "c.fork-loop"))
((while_statement
   body: (compound_statement (expression_statement (call_expression function: (identifier) @call))))
 (#resolves? @call "fork" "vfork")
 (#set! rule "c.fork-loop"))
((for_statement
   body: (expression_statement (call_expression function: (identifier) @call)))
 (#resolves? @call "fork" "vfork")
 (#set! rule "c.fork-loop"))
((for_statement
   body: (compound_statement (expression_statement (call_expression function: (identifier) @call))))
 (#resolves? @call "fork" "vfork")
 (#set! rule "c.fork-loop"))
