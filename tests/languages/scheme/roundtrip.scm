;; A JSON reader and writer by hand, checked against itself.
(use-modules (ice-9 match) (ice-9 textual-ports) (srfi srfi-1) (srfi srfi-9))

(setlocale LC_ALL "")

;; An object is a record, so that it is not taken for an array, which is a vector.
(define-record-type <object> (make-object members) object? (members object-members))

(define literals '(("true" . #t) ("false" . #f) ("null" . null)))

(define (wrong why at)
  (throw 'wrong why at))

;; A reader is a procedure that answers to messages; it holds the place where it is.
(define (make-reader text)
  (define at 0)
  (define end (string-length text))

  (define (peek)
    (let ((next (string-skip text char-set:whitespace at)))
      (set! at (or next end))
      (if next (string-ref text next) #\nul)))

  (define (take wanted)
    (unless (char=? (peek) wanted)
      (wrong wanted at))
    (set! at (+ at 1)))

  (define (next)
    (when (>= at end)
      (wrong "a string does not end" at))
    (set! at (+ at 1))
    (string-ref text (- at 1)))

  (define (escaped)
    (match (next)
      (#\n #\newline)
      (#\t #\tab)
      (#\u (set! at (+ at 4))
           (integer->char (string->number (substring text (- at 4) at) 16)))
      (other other)))

  (define (read-string)
    (take #\")
    (let loop ((found '()))
      (match (next)
        (#\" (reverse-list->string found))
        (#\\ (loop (cons (escaped) found)))
        (char (loop (cons char found))))))

  (define (read-list open close read-item)
    (take open)
    (let loop ((found '()))
      (cond ((char=? (peek) close)
             (take close)
             (reverse found))
            (else
             (unless (null? found)
               (take #\,))
             (loop (cons (read-item) found))))))

  (define (read-member)
    (let ((key (read-string)))
      (take #\:)
      (cons key (read-value))))

  (define (read-number)
    (let* ((stop (or (string-skip text (string->char-set "+-0123456789.eE") at) end))
           (number (string->number (substring text at stop))))
      (unless number
        (wrong "no value" at))
      (set! at stop)
      number))

  (define (read-literal)
    (find (lambda (literal) (string-prefix? (car literal) text 0 (string-length (car literal)) at end))
          literals))

  (define (read-value)
    (match (peek)
      (#\{ (make-object (read-list #\{ #\} read-member)))
      (#\[ (list->vector (read-list #\[ #\] read-value)))
      (#\" (read-string))
      (_ (let ((literal (read-literal)))
           (cond (literal
                  (set! at (+ at (string-length (car literal))))
                  (cdr literal))
                 (else (read-number)))))))

  (lambda ()
    (let ((value (read-value)))
      (unless (char=? (peek) #\nul)
        (wrong "something follows" at))
      value)))

(define (read-text text)
  ((make-reader text)))

(define (quoted text)
  (call-with-output-string
    (lambda (port)
      (write-char #\" port)
      (string-for-each
        (lambda (char)
          (match char
            ((or #\\ #\") (format port "\\~a" char))
            (#\newline (display "\\n" port))
            (#\tab (display "\\t" port))
            (_ (write-char char port))))
        text)
      (write-char #\" port))))

(define (number->text number)
  (if (integer? number) (number->string (inexact->exact number)) (number->string number)))

(define (write-text value)
  (define (join parts)
    (string-join parts ","))
  (cond ((object? value)
         (let ((members (sort (object-members value) (lambda (a b) (string<? (car a) (car b))))))
           (string-append "{" (join (map (lambda (member)
                                           (string-append (quoted (car member)) ":" (write-text (cdr member))))
                                         members))
                          "}")))
        ((vector? value) (string-append "[" (join (map write-text (vector->list value))) "]"))
        ((string? value) (quoted value))
        ((number? value) (number->text value))
        (else (car (find (lambda (literal) (eq? (cdr literal) value)) literals)))))

(define totals (map (lambda (name) (cons name 0)) '(objects arrays strings numbers literals depth)))

(define (note! name change)
  (assq-set! totals name (change (assq-ref totals name))))

(define (count value depth)
  (define (enter kind items)
    (note! kind 1+)
    (note! 'depth (lambda (deepest) (max deepest depth)))
    (for-each (lambda (item) (count item (+ depth 1))) items))
  (cond ((object? value) (enter 'objects (map cdr (object-members value))))
        ((vector? value) (enter 'arrays (vector->list value)))
        (else (note! (cond ((string? value) 'strings) ((number? value) 'numbers) (else 'literals)) 1+))))

(define (rejected? text)
  (catch 'wrong
    (lambda () (read-text text) #f)
    (lambda _ #t)))

(define document (read-text (get-string-all (current-input-port))))
(define canonical (write-text document))
(count document 1)
(format #t "~a\n~a\n" canonical
        (string-join (map (lambda (total) (format #f "~a=~a" (car total) (cdr total))) totals)))
(format #t "round trip ~a\n" (if (string=? (write-text (read-text canonical)) canonical) "ok" "broken"))
(format #t "rejected ~a of 3\n" (length (filter rejected? '("{" "[1,]" "{\"a\" 1}"))))
