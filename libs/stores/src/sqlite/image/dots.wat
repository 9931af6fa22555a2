;; Dot products of one vector with others in the same memory, two at a time. Each has four sums of 64 bits, which lie in two
;; registers: what is added to what, and in which order, is as in `dot` of cosine.ts, and so are the bits of the results.
(module
  (import "vectors" "memory" (memory 1))
  (func (export "dots")
    (param $own i32)    ;; where the one vector lies, as numbers of 64 bits
    (param $others i32) ;; where addresses of others lie (numbers of 32 bits); an even count of them, at least two
    (param $end i32)    ;; behind the last of these
    (param $values i32) ;; where the results go, as numbers of 64 bits
    (param $bytes i32)  ;; of one of the others: a multiple of 16, at least one
    (local $one i32) (local $other i32) (local $at i32) (local $last i32)
    (local $first v128) (local $second v128) (local $third v128) (local $fourth v128)
    (local $low v128) (local $high v128) (local $four v128)
    (loop $pairs
      (local.set $one (i32.load (local.get $others)))
      (local.set $other (i32.load offset=4 (local.get $others)))
      (local.set $at (local.get $own))
      (local.set $last (i32.add (local.get $one) (local.get $bytes)))
      (local.set $first (v128.const f64x2 0 0))
      (local.set $second (v128.const f64x2 0 0))
      (local.set $third (v128.const f64x2 0 0))
      (local.set $fourth (v128.const f64x2 0 0))
      (loop $numbers
        (local.set $low (v128.load (local.get $at)))
        (local.set $high (v128.load offset=16 (local.get $at)))
        (local.set $four (v128.load (local.get $one)))
        (local.set $first (f64x2.add (local.get $first)
          (f64x2.mul (local.get $low) (f64x2.promote_low_f32x4 (local.get $four)))))
        (local.set $second (f64x2.add (local.get $second)
          (f64x2.mul (local.get $high) (f64x2.promote_low_f32x4
            (i8x16.shuffle 8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15 (local.get $four) (local.get $four))))))
        (local.set $four (v128.load (local.get $other)))
        (local.set $third (f64x2.add (local.get $third)
          (f64x2.mul (local.get $low) (f64x2.promote_low_f32x4 (local.get $four)))))
        (local.set $fourth (f64x2.add (local.get $fourth)
          (f64x2.mul (local.get $high) (f64x2.promote_low_f32x4
            (i8x16.shuffle 8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15 (local.get $four) (local.get $four))))))
        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (local.set $other (i32.add (local.get $other) (i32.const 16)))
        (local.set $one (i32.add (local.get $one) (i32.const 16)))
        (br_if $numbers (i32.lt_u (local.get $one) (local.get $last))))
      (f64.store (local.get $values) (f64.add
        (f64.add (f64x2.extract_lane 0 (local.get $first)) (f64x2.extract_lane 1 (local.get $first)))
        (f64.add (f64x2.extract_lane 0 (local.get $second)) (f64x2.extract_lane 1 (local.get $second)))))
      (f64.store offset=8 (local.get $values) (f64.add
        (f64.add (f64x2.extract_lane 0 (local.get $third)) (f64x2.extract_lane 1 (local.get $third)))
        (f64.add (f64x2.extract_lane 0 (local.get $fourth)) (f64x2.extract_lane 1 (local.get $fourth)))))
      (local.set $values (i32.add (local.get $values) (i32.const 16)))
      (local.set $others (i32.add (local.get $others) (i32.const 8)))
      (br_if $pairs (i32.lt_u (local.get $others) (local.get $end))))))
