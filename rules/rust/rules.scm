((unsafe_block) @code
 (#set! rule "rust.unsafe"))
((foreign_mod_item) @code
 (#set! rule "rust.native"))
