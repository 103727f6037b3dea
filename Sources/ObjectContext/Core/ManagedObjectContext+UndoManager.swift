// ManagedObjectContext+UndoManager: the undo manager of a context, and whether the context hears of writes.
import ObjectStore

extension ManagedObjectContext {
  /// What can be undone and redone in the context; nil unless it is set, and then nothing is recorded and writing costs what it does.
  ///
  /// A manager belongs to one context. Setting one that is another living context's changes nothing, and ``pendingError`` tells. The manager that is
  /// replaced forgets all actions.
  public var undoManager: ContextUndoManager? {
    get { recorder }
    set {
      if newValue === recorder { return }
      if let newValue, newValue.context != nil { return note(StoreError(.misuse(.undoManagerOfOtherContext), operation: .undo)) }
      recorder?.join(0)
      eventObservers.setRecorder(newValue)
      newValue?.join(number)
      writeNothingInPlace()
    }
  }

  /// Runs work of the library whose changes are nobody's to take back.
  @inline(__always) func unrecorded<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard let undo = recorder else { return try body() }
    undo.suspend()
    defer { undo.resume() }
    return try body()
  }

  /// Objects that write in place do so no more, where somebody is to hear of writes.
  private func writeNothingInPlace() {
    if hearsWrites { registry.forEach { $0.flags.remove(.writesInPlace) } }
  }
}
