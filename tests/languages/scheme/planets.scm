;; The solar system, a spectral norm, and primes found by threads.
(use-modules (ice-9 format) (ice-9 threads) (srfi srfi-1) (srfi srfi-9))

(define pi (acos -1))
(define solar-mass (* 4 pi pi))
(define days 365.24)
(define workers 4)
(define limit 20000)

(define-record-type <body>
  (make-body position velocity mass)
  body?
  (position position)
  (velocity velocity)
  (mass mass))

(define (body position velocity mass)
  (make-body (list->vector position)
             (list->vector (map (lambda (part) (* part days)) velocity))
             (* mass solar-mass)))

(define (solar-system)
  (list (body '(0. 0. 0.) '(0. 0. 0.) 1.)
        (body '(4.84143144246472090 -1.16032004402742839 -0.103622044471123109)
              '(0.00166007664274403694 0.00769901118419740425 -0.0000690460016972063023)
              0.000954791938424326609)
        (body '(8.34336671824457987 4.12479856412430479 -0.403523417114321381)
              '(-0.00276742510726411 0.00499852801234917238 0.0000230417297573763929)
              0.000285885980666130812)
        (body '(12.8943695621391310 -15.1111514016986312 -0.223307578892655734)
              '(0.00296460137564761618 0.00237847173959480950 -0.0000296589568540237556)
              0.0000436624404335156298)
        (body '(15.3796971148509165 -25.9193146099879641 0.179258772950371181)
              '(0.00268067772490389322 0.00162824170038242295 -0.0000951592254519715870)
              0.0000515138902046611451)))

(define axes '(0 1 2))

(define (sum numbers)
  (fold + 0 numbers))

(define (square vector)
  (sum (map (lambda (axis) (expt (vector-ref vector axis) 2)) axes)))

(define (change! vector axis by)
  (vector-set! vector axis (+ (vector-ref vector axis) by)))

(define (away first second)
  (let ((between (vector-copy (position first))))
    (for-each (lambda (axis) (change! between axis (- (vector-ref (position second) axis)))) axes)
    between))

(define (offset-momentum! bodies)
  (for-each
   (lambda (axis)
     (let ((momentum (sum (map (lambda (b) (* (vector-ref (velocity b) axis) (mass b))) bodies))))
       (vector-set! (velocity (car bodies)) axis (- (/ momentum solar-mass)))))
   axes))

;; Calls the procedure with each pair of bodies.
(define (for-each-pair procedure bodies)
  (unless (null? bodies)
    (for-each (lambda (second) (procedure (car bodies) second)) (cdr bodies))
    (for-each-pair procedure (cdr bodies))))

(define (energy bodies)
  (let ((total (sum (map (lambda (b) (* 0.5 (mass b) (square (velocity b)))) bodies))))
    (for-each-pair
     (lambda (first second)
       (set! total (- total (/ (* (mass first) (mass second)) (sqrt (square (away first second)))))))
     bodies)
    total))

(define (advance! bodies step)
  (for-each-pair
   (lambda (first second)
     (let* ((between (away first second))
            (magnitude (/ step (expt (square between) 1.5))))
       (for-each
        (lambda (axis)
          (let ((part (* (vector-ref between axis) magnitude)))
            (change! (velocity first) axis (- (* part (mass second))))
            (change! (velocity second) axis (* part (mass first)))))
        axes)))
   bodies)
  (for-each
   (lambda (b)
     (for-each (lambda (axis) (change! (position b) axis (* step (vector-ref (velocity b) axis)))) axes))
   bodies))

(define (element i j)
  (/ 1. (+ (quotient (* (+ i j) (+ i j 1)) 2) i 1)))

(define (multiply vector element)
  (let* ((size (vector-length vector))
         (out (make-vector size 0.)))
    (do ((i 0 (+ i 1))) ((= i size) out)
      (do ((j 0 (+ j 1))) ((= j size))
        (change! out i (* (element i j) (vector-ref vector j)))))))

(define (dot a b)
  (sum (map * (vector->list a) (vector->list b))))

(define (spectral-norm size)
  (define (both vector)
    (multiply (multiply vector element) (lambda (i j) (element j i))))
  (let loop ((turns 10) (u (make-vector size 1.)) (v #f))
    (if (= turns 0)
        (sqrt (/ (dot u v) (dot v v)))
        (let ((v (both u)))
          (loop (- turns 1) (both v) v)))))

(define (prime? number)
  (let loop ((divisor 2))
    (cond ((> (* divisor divisor) number) (> number 1))
          ((= (modulo number divisor) 0) #f)
          (else (loop (+ divisor 1))))))

(define (count-primes worker)
  (count prime? (iota (quotient limit workers) worker workers)))

;; Threads share a number that a mutex guards.
(define (count-together)
  (let* ((found 0)
         (guard (make-mutex))
         (threads (map (lambda (worker)
                         (call-with-new-thread
                          (lambda ()
                            (let ((mine (count-primes worker)))
                              (with-mutex guard (set! found (+ found mine)))
                              mine))))
                       (iota workers)))
         (told (sum (map join-thread threads))))
    (unless (= told found)
      (error "the threads disagree" told found))
    found))

(define bodies (solar-system))
(offset-momentum! bodies)
(format #t "~,9f\n" (energy bodies))
(do ((i 0 (+ i 1))) ((= i 1000)) (advance! bodies 0.01))
(format #t "~,9f\n~,9f\n~a\n" (energy bodies) (spectral-norm 100) (count-together))
