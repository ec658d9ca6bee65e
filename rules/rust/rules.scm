; if: unsafe
((unsafe_block) @code
 (#set! rule "rust.unsafe"))

; if: extern
((foreign_mod_item) @code
 (#set! rule "rust.native"))
