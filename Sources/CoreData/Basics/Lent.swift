/// A wrapper that transfers a value that is not `Sendable` to the queue on which it is used.
struct Lent<Value>: @unchecked Sendable {  // used only on that queue
  let value: Value
}
