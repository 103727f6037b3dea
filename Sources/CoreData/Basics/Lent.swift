/// A wrapper that transfers a value that is not `Sendable` to the queue on which it is used.
struct Lent<Value>: @unchecked Sendable {  // it is used on that queue alone
  let value: Value
}
