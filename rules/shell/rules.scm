; :(){ :|:& };:   a function that calls itself twice in a pipe
; if: |
((function_definition
   name: (word) @name
   body: (compound_statement
     (pipeline
       (command name: (command_name (word) @first))
       (command name: (command_name (word) @second)))))
 (#eq? @name @first)
 (#eq? @name @second)
 (#set! rule "shell.fork-bomb"))

; > /dev/sda, > /proc/sys/...; /dev/null and its kin are harmless
; if: /dev/ /proc/ /sys/
((file_redirect destination: (_) @place)
 (#match? @place "^[\"']?/(dev|proc|sys)/")
 (#not-match? @place "^[\"']?/dev/(null|zero|stdin|stdout|stderr|tty|fd/[0-9]+|shm/)")
 (#set! rule "shell.raw-device"))

; bash's own network files
; if: /dev/tcp /dev/udp
((word) @place
 (#match? @place "^/dev/(tcp|udp)/")
 (#set! rule "shell.raw-device"))
