import ObjectStore

extension ManagedObjectContext {
  /// The undo manager of the context. The default is `nil`: nothing is recorded, and writes have no additional cost.
  ///
  /// A manager belongs to one context. Setting a manager that belongs to another existing context has no effect, and ``pendingError``
  /// reports the misuse. A manager that is replaced removes all its actions.
  public var undoManager: ContextUndoManager? {
    get { recorder }
    set {
      if newValue === recorder { return }
      if let newValue, newValue.context != nil { return record(StoreError(.undoManagerOfOtherContext, operation: .undo)) }
      recorder?.join(0)
      eventObservers.setRecorder(newValue)
      newValue?.join(number)
      writeNothingInPlace()
    }
  }

  /// Performs an internal operation whose changes must not be recorded.
  @inline(__always) func unrecorded<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard let undo = recorder else { return try body() }
    undo.suspend()
    defer { undo.resume() }
    return try body()
  }

  /// Disables in-place writes of all objects if writes must be recorded.
  private func writeNothingInPlace() {
    if recordsWrites { registry.forEach { $0.flags.remove(.writesInPlace) } }
  }
}
