; if: unsafe
((unsafe_block) @code
 (#set! rule "rust.unsafe"))
((function_modifiers) @code
 (#match? @code "unsafe")
 (#set! rule "rust.unsafe"))
((impl_item) @code
 (#match? @code "^unsafe")
 (#set! rule "rust.unsafe"))

; if: link_section export_name
((attribute_item) @code
 (#match? @code "link_section|export_name")
 (#set! rule "rust.native"))

; if: path
((attribute_item) @code
 (#match? @code "[[( ,]path *=")
 (#set! rule "rust.include"))

; if: extern
((foreign_mod_item) @code
 (#set! rule "rust.native"))

; unsafe extern "C" { ... } of the edition 2024, which the grammar does not know.
; if: unsafe
; if: extern
((ERROR (extern_modifier) @code)
 (#set! rule "rust.native"))
((function_signature_item (function_modifiers (extern_modifier) @code))
 (#set! rule "rust.native"))
