; while True: ... os.fork() ...
((while_statement
   condition: [(true) (integer)]
   body: (block (_ (call function: (_) @call))))
 (#resolves? @call "os.fork" "os.forkpty" "multiprocessing.Process")
 (#set! rule "python.fork-loop"))

; while True: pid = os.fork()
((while_statement
   condition: [(true) (integer)]
   body: (block (_ (assignment right: (call function: (_) @call)))))
 (#resolves? @call "os.fork" "os.forkpty" "multiprocessing.Process")
 (#set! rule "python.fork-loop"))

; # -*- coding: rot13 -*- on the first line
; if at the top: coding: coding=
((module . (comment) @comment)
 (#match? @comment "coding[:=]")
 (#not-match? @comment "coding[:=][ \t]*(utf|UTF|u8|latin|Latin|iso-8859|ascii|us-ascii|cp1252)")
 (#set! rule "python.encoding"))

; the same on the second line
; if at the top: coding: coding=
((module . (comment) . (comment) @comment)
 (#match? @comment "coding[:=]")
 (#not-match? @comment "coding[:=][ \t]*(utf|UTF|u8|latin|Latin|iso-8859|ascii|us-ascii|cp1252)")
 (#set! rule "python.encoding"))

; UTF-7 hides code in what looks like a comment
; if at the top: utf-7 utf7 UTF-7 utf_7
((module . (comment) @comment)
 (#match? @comment "coding[:=][ \t]*(utf|UTF)[-_]?7")
 (#set! rule "python.encoding"))
