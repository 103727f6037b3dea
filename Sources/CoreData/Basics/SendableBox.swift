/// A wrapper that transfers a value that is not `Sendable` to the queue on which it is used.
struct SendableBox<Value>: @unchecked Sendable {  // used only on that queue
  let value: Value
}
