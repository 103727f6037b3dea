// Lent: something on its way to the queue that it belongs to.

/// Something that is no `Sendable`, on its way to the queue that it belongs to.
struct Lent<Value>: @unchecked Sendable {  // it is used on that queue alone
  let value: Value
}
