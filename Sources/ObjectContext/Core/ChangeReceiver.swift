import ObjectStore

/// The changes of other contexts and processes that a context merges automatically, and its nested contexts.
struct ChangeReceiver: ~Copyable {
  /// The changes that wait to be merged; `nil` if the context merges only explicitly.
  private var inbox: ChangeInbox?
  /// Schedules a merge of the waiting changes; callable from any thread.
  private(set) var scheduleMerge: (@Sendable () -> Void)?
  /// Whether objects with unsaved changes remain when their rows are deleted elsewhere, whatever the merge policy. The save then detects
  /// the conflict.
  private(set) var retainsChangedObjects = false
  private var nested = NestedContexts()

  /// Whether changes are collected.
  var isOpen: Bool { inbox != nil }

  /// Sets the closure that schedules a merge in the context's isolation. Without it, waiting changes are merged at the context's next
  /// event.
  mutating func setMergeScheduler(_ scheduleMerge: @escaping @Sendable () -> Void) { self.scheduleMerge = scheduleMerge }

  mutating func retainChangedObjects() { retainsChangedObjects = true }

  /// Starts collecting changes.
  mutating func open(_ rowSource: RowSource) {
    if inbox == nil { inbox = rowSource.makeInbox(scheduleMerge: scheduleMerge) }
  }

  /// Stops collecting changes, and discards waiting ones.
  mutating func close() { inbox = nil }

  // MARK: Nested contexts

  var hasNested: Bool { !nested.isEmpty }

  /// Returns the nested contexts, which share this context's isolation.
  func nestedContexts() -> [ManagedObjectContext] { nested.contexts }

  mutating func registerNested(_ number: UInt64, isOpen: Bool) {
    if isOpen { nested.insert(number) } else { nested.remove(number) }
  }

  /// Adds changes that were made in the parent of a nested context.
  func add(_ changes: ChangeSet) { inbox?.add(changes) }

  /// Removes and returns the waiting changes; `nil` if there are none.
  func take() -> ChangeInbox.Waiting? { inbox?.take() }
}
