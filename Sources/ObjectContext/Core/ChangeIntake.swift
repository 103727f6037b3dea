// ChangeIntake: where what others have changed comes into a context, if it is to come by itself, and who is told of it in turn.
import ObjectStore

/// What others have changed, on its way into a context that merges it by itself.
struct ChangeIntake: ~Copyable {
  /// What waits to be merged; nil while the context merges only what it is given.
  private var inbox: ChangeInbox?
  /// Brings the context to merge what waits, from any thread.
  private(set) var wake: (@Sendable () -> Void)?
  /// Whether objects with unsaved changes outlive their rows, whatever the merge policy is: the save finds the conflict then.
  private(set) var keepsChangedObjects = false
  /// The contexts that are nested in the one.
  private var nested = NestedContexts()

  /// Whether others' changes are collected.
  var isOpen: Bool { inbox != nil }

  /// Says how the context is brought to merge what waits; without it, it waits for the context's next event. For contexts whose isolation is known.
  mutating func setWake(_ wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// Has objects with unsaved changes outlive their rows.
  mutating func keepChangedObjects() { keepsChangedObjects = true }

  /// Collects others' changes from now on.
  mutating func open(_ rowSource: RowSource) {
    if inbox == nil { inbox = rowSource.makeInbox(wake: wake) }
  }

  /// Collects nothing more, and drops what waits.
  mutating func close() { inbox = nil }

  // MARK: Nested contexts

  /// Whether some context is nested in the one.
  var hasNested: Bool { !nested.isEmpty }

  /// The contexts that are nested in the one. All of them live in its isolation.
  func nestedContexts() -> [ManagedObjectContext] { nested.contexts }

  /// A nested context is there, or goes.
  mutating func noteNested(_ number: UInt64, isThere: Bool) {
    if isThere { nested.insert(number) } else { nested.remove(number) }
  }

  /// Something was changed in the parent of a nested context.
  func add(_ changes: ChangeSet) { inbox?.add(changes) }

  /// Takes out what waits; nil when nothing does.
  func take() -> ChangeInbox.Waiting? { inbox?.take() }
}
