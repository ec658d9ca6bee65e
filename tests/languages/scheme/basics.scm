;; One program, many modes: the first argument says which.
(use-modules (ice-9 rdelim) (ice-9 textual-ports))

(setlocale LC_ALL "")
(define words (cddr (command-line)))

(define (show . parts)
  (for-each display parts)
  (newline))

(define (add-numbers)
  (let loop ((count 0) (sum 0))
    (let ((line (read-line)))
      (if (eof-object? line)
          (show count " lines, sum " sum)
          (loop (+ count 1) (+ sum (string->number line)))))))

(define (append-line mode text)
  (let ((port (open-file "made.txt" mode)))
    (display text port)
    (newline port)
    (close-port port)))

(define (use-files)
  (append-line "w" "one")
  (append-line "a" "two")
  (display (call-with-input-file "made.txt" get-string-all)))

(define (fill-memory)
  (let loop ((kept '()))
    (loop (cons (make-vector 100000 1.5) kept))))

(case (string->symbol (cadr (command-line)))
  ((args) (for-each (lambda (word) (show "[" word "]")) words))
  ((stdin) (add-numbers))
  ((files) (use-files))
  ((exit) (exit 7))
  ((uncaught) (error "deliberate"))
  ((forever) (let loop () (loop)))
  ((memory) (fill-memory))
  ((unicode) (show "Grüße, 世界 🌍 " (car words) " " (string-length (car words))))
  ((big) (do ((i 0 (+ i 1))) ((= i 40000)) (show (make-string 63 #\x)))))
