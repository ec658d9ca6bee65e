; while True: ... os.fork() ...
((while_statement
   condition: [(true) (integer)]
   body: (block (_ (call function: (_) @call))))
 (#resolves? @call "os.fork" "os.forkpty" "multiprocessing.Process")
 (#set! rule "python.fork-loop"))

((while_statement
   condition: [(true) (integer)]
   body: (block (_ (assignment right: (call function: (_) @call)))))
 (#resolves? @call "os.fork" "os.forkpty" "multiprocessing.Process")
 (#set! rule "python.fork-loop"))

; The way from any object to the interpreter's inside.
((attribute attribute: (identifier) @name)
 (#any-of? @name "__subclasses__" "__globals__" "__builtins__" "__code__" "__closure__" "__mro__"
   "__bases__" "__base__" "__getattribute__" "__reduce__" "__reduce_ex__" "f_globals" "f_locals"
   "f_builtins" "gi_frame" "cr_frame" "tb_frame" "co_code")
 (#set! rule "python.introspection"))

((subscript subscript: (string) @name)
 (#match? @name "__(subclasses|globals|builtins|import)__")
 (#set! rule "python.introspection"))

; # -*- coding: rot13 -*-
((module . (comment) @comment)
 (#match? @comment "coding[:=]")
 (#not-match? @comment "coding[:=][ \t]*(utf-?8|UTF-?8|u8|latin-?1|Latin-?1|iso-8859-1|ascii|us-ascii|cp1252)")
 (#set! rule "python.encoding"))
((module . (comment) . (comment) @comment)
 (#match? @comment "coding[:=]")
 (#not-match? @comment "coding[:=][ \t]*(utf-?8|UTF-?8|u8|latin-?1|Latin-?1|iso-8859-1|ascii|us-ascii|cp1252)")
 (#set! rule "python.encoding"))
