import ObjectModel
import ObjectStore

/// A manager that records the changes made in a context, in groups that can be undone and redone.
///
/// ```swift
/// context.undoManager = ContextUndoManager()
/// context.perform {
///   book.title = "Ulysses"
///   context.undoManager?.setActionName("Rename")
/// }
/// try context.undo()   // restores the previous title
/// try context.redo()   // sets the new one again
/// ```
///
/// The API has the names of Foundation's `UndoManager`, but the class is not a subclass of it: a manager belongs to one context and its
/// isolation. It automatically records the previous state for every change of attributes and relationships, every insertion, and every
/// deletion including the effects of delete rules. Actions of the application (``registerUndo(withTarget:handler:)``) are recorded in order
/// with these changes. Undo restores the previous state without calling setters, delete rules or validation; the next save applies delete
/// rules and validation. See <doc:Undo>.
///
/// A record of a number takes 48 bytes; a text takes its own bytes in addition. Recording adds some tens of nanoseconds to each write.
public final class ContextUndoManager {
  /// A group that was dropped.
  public struct DroppedGroup: Sendable, Hashable, CustomStringConvertible {
    /// The reason why a group was dropped.
    public enum Reason: Sendable, Hashable {
      /// The group alone takes more memory than ``ContextUndoManager/undoByteLimit``.
      case largerThanLimit
      /// A save deleted objects or replaced large values whose previous values could not be read.
      case unreadable
    }

    /// The name of the action.
    public let actionName: String
    /// The reason why the group was dropped.
    public let reason: Reason

    /// A message that describes what happened.
    public var description: String {
      let what = actionName.isEmpty ? "The last action" : "“\(actionName)”"
      switch reason {
      case .largerThanLimit: return "\(what) cannot be undone: it takes more memory than undoByteLimit allows."
      case .unreadable: return "\(what) cannot be undone: what it has replaced could not be read."
      }
    }
  }

  enum Activity { case idle, undoing, redoing }

  /// Creates a manager that does not belong to a context yet. Assign it to ``ManagedObjectContext/undoManager``.
  public init() {}

  // MARK: Settings

  /// Whether changes outside of ``beginUndoGrouping()`` and ``endUndoGrouping()`` form one group for each event. A save,
  /// ``ManagedObjectContext/processPendingChanges()`` and ``ManagedObjectContext/perform(_:)`` end an event. The default is `true`.
  ///
  /// If `false`, changes outside of groups are not recorded, and ``ManagedObjectContext/pendingError`` reports them.
  public var groupsByEvent = true
  /// The maximum number of groups. The oldest groups are dropped. The default, 0, sets no limit.
  public var levelsOfUndo = 0 {
    didSet { dropOldest() }
  }
  /// The maximum number of bytes that all groups take together. The default is 64 MiB.
  ///
  /// The oldest groups are dropped, each as a whole. A group that exceeds the limit alone is dropped together with the groups before it;
  /// see ``lastDroppedGroup``.
  public var undoByteLimit: Int {
    get { byteLimit }
    set {
      byteLimit = newValue
      dropOldest()
    }
  }
  // Unchecked for the reason given at `activeGroup`.
  @exclusivity(unchecked) private var byteLimit = 64 << 20
  /// The last group that was dropped for a reason other than its age; `nil` if there was none since ``removeAllActions()``.
  public package(set) var lastDroppedGroup: DroppedGroup?

  // MARK: Groups

  /// The groups that can be undone, with the newest one last, and those that can be redone.
  private(set) var undoStack: [UndoGroup] = []
  private(set) var redoStack: [UndoGroup] = []
  /// The group that was closed last, while nothing was undone or redone since. Setting an action name then applies to it.
  private var lastClosed: ObjectIdentifier?
  /// The open groups, with the outermost one first.
  private(set) var openGroups: [UndoGroup] = []
  /// The group that is being undone or redone. It is not in a stack.
  var applied: UndoGroup?
  /// Whether the outermost open group is the group of the current event.
  // Unchecked for the reason given at `activeGroup`.
  @exclusivity(unchecked) private(set) var isEventGroup = false
  /// The reason why the open groups were dropped and record nothing more; `nil` while they are kept.
  private var dropReason: DroppedGroup.Reason?
  /// The bytes of the open groups.
  // Unchecked for the reason given at `activeGroup`.
  @exclusivity(unchecked) private var openByteCount = 0
  /// The bytes of the other groups.
  private var closedByteCount = 0
  private(set) var activity = Activity.idle { didSet { updateActiveGroup() } }
  private var lastActivity = Activity.idle
  private(set) var disabledCount = 0 { didSet { updateActiveGroup() } }
  /// The number of internal operations in progress whose changes are not recorded.
  private var suspensionCount = 0 { didSet { updateActiveGroup() } }
  var isSaving = false
  /// The number of times that all actions were removed.
  private(set) var clearCount = 0
  /// The number of the context that the manager belongs to; 0 if there is none.
  private(set) var contextNumber: UInt64 = 0
  /// The innermost open group that accepts records; `nil` if none is open or nothing is recorded.
  // Every write accesses it, in the context's isolation, which admits one access at a time; no call made during an access reenters the
  // manager.
  @exclusivity(unchecked) private var activeGroup: UndoGroup?

  private func updateActiveGroup() { activeGroup = isRecording && dropReason == nil ? openGroups.last : nil }

  /// Whether changes are recorded. Undo and redo record their changes even if undo registration is disabled.
  private var isRecording: Bool { suspensionCount == 0 && (disabledCount == 0 || activity != .idle) }

  /// Returns the group that accepts records, and opens the group of the event if necessary. Returns `nil` if nothing is recorded.
  @inline(__always) func recordingGroup() -> UndoGroup? { activeGroup ?? openForRecording() }

  /// Returns whether an open group is that of the event, so that all its changes were made since the event began.
  @inline(__always) func isOfEvent(_ group: UndoGroup) -> Bool { isEventGroup && openGroups.count == 1 }

  @inline(never) private func openForRecording() -> UndoGroup? {
    guard isRecording, dropReason == nil, openGroups.isEmpty else { return nil }
    guard groupsByEvent else {
      record(.undoOutsideOfGroups)
      return nil
    }
    isEventGroup = true
    openGroup()
    return activeGroup
  }

  func openGroup() {
    openGroups.append(UndoGroup())
    updateActiveGroup()
  }

  func closeGroup() {
    guard let group = openGroups.popLast() else { return }
    defer { updateActiveGroup() }
    group.close()
    if let outer = openGroups.last {
      if group.isEmpty { return }
      outer.append(
        UndoRecord(reference: ObjectReference(rawValue: 0), space: 0, property: 0, kind: .group, marks: [], former: outer.add(group)))
      outer.byteCount += group.byteCount
      return
    }
    let isOfEvent = isEventGroup
    isEventGroup = false
    openByteCount = 0
    if let dropReason { return finishDrop(of: group, dropReason) }
    if group.isEmpty {
      if isOfEvent, let former = unnamedGroup { former.name = group.name }
      return
    }
    if activity == .idle {
      removeAll(from: &redoStack)
      lastClosed = ObjectIdentifier(group)
    }
    closedByteCount += group.byteCount
    if activity == .undoing { redoStack.append(group) } else { undoStack.append(group) }
    dropOldest()
  }

  /// Closes the group of the event if it is the only open group.
  package func closeEventGroup() {
    if isEventGroup, openGroups.count == 1, activity == .idle { closeGroup() }
  }

  /// The group that was closed last, if it has no name and is the next one to undo.
  var unnamedGroup: UndoGroup? { newestGroup?.name.isEmpty ?? false ? newestGroup : nil }

  /// The group that was closed last, if it is the next one to undo.
  var newestGroup: UndoGroup? { undoStack.last.flatMap { ObjectIdentifier($0) == lastClosed ? $0 : nil } }

  /// Starts undo or redo, and returns the newest group.
  func begin(_ activity: Activity) -> UndoGroup? {
    guard let group = activity == .undoing ? undoStack.popLast() : redoStack.popLast() else { return nil }
    closedByteCount -= group.byteCount
    applied = group
    lastClosed = nil
    self.activity = activity
    openGroup()
    openGroups.last?.name = group.name
    return group
  }

  /// Starts undoing the last group within the open one.
  func beginNested() -> UndoGroup? {
    guard let group = openGroups.last?.removeLastGroup() else { return nil }
    openByteCount -= group.byteCount
    return group
  }

  /// Performs an operation, and adds its changes to the group that was undone or redone last, unless other changes were made since.
  func addToLastGroup(_ work: () -> Void) {
    guard openGroups.isEmpty, isRecording, let group = lastActivity == .undoing ? redoStack.last : undoStack.last else { return work() }
    let byteCount = group.byteCount
    openGroups = [group]
    updateActiveGroup()
    work()
    group.close()
    closedByteCount += group.byteCount - byteCount
    openByteCount = 0
    openGroups = []
    if let reason = dropReason {
      dropReason = nil
      drop(group, because: reason)
    }
    updateActiveGroup()
    dropOldest()
  }

  func end() {
    lastActivity = activity
    while openGroups.count > 1 { closeGroup() }
    closeGroup()
    applied = nil
    activity = .idle
  }

  // MARK: Limits

  /// Adds to the size of an open group. If the open groups exceed the limit, they are dropped at once.
  @inline(__always) func count(_ bytes: Int, in group: UndoGroup) {
    group.byteCount += bytes
    openByteCount += bytes
    if openByteCount > byteLimit { dropOpenGroups(because: .largerThanLimit) }
  }

  @inline(never) private func dropOpenGroups(because reason: DroppedGroup.Reason) {
    for group in openGroups { group.removeAll() }
    dropReason = reason
    openByteCount = 0
    updateActiveGroup()
  }

  /// Finishes closing a dropped group.
  private func finishDrop(of group: UndoGroup, _ reason: DroppedGroup.Reason) {
    dropReason = nil
    lastDroppedGroup = DroppedGroup(actionName: group.name, reason: reason)
    // Older groups cannot be undone across changes that are not recorded.
    removeAll(from: &redoStack)
    if activity != .undoing { removeAll(from: &undoStack) }
  }

  private func removeAll(from stack: inout [UndoGroup]) {
    for group in stack { closedByteCount -= group.byteCount }
    stack = []
  }

  /// Drops the oldest groups until the remaining ones are within the limits.
  func dropOldest() {
    dropOldest(of: &undoStack)
    dropOldest(of: &redoStack)
  }

  private func dropOldest(of stack: inout [UndoGroup]) {
    var count = levelsOfUndo > 0 ? max(0, stack.count - levelsOfUndo) : 0
    for group in stack[..<count] { closedByteCount -= group.byteCount }
    while closedByteCount > undoByteLimit, count < stack.count {
      closedByteCount -= stack[count].byteCount
      count += 1
    }
    if count == 0 { return }
    // Loading large values before a save may have made a single group exceed the limit.
    let last = stack[count - 1]
    if count == stack.count, last.byteCount > undoByteLimit {
      lastDroppedGroup = DroppedGroup(actionName: last.name, reason: .largerThanLimit)
    }
    stack.removeFirst(count)
  }

  /// Drops a group for which required values could not be read, and the groups before it.
  func drop(_ group: UndoGroup, because reason: DroppedGroup.Reason) {
    if openGroups.contains(where: { $0 === group }) { return dropOpenGroups(because: reason) }
    lastDroppedGroup = DroppedGroup(actionName: group.name, reason: reason)
    if let index = undoStack.firstIndex(where: { $0 === group }) {
      for group in undoStack[...index] { closedByteCount -= group.byteCount }
      undoStack.removeFirst(index + 1)
    } else if let index = redoStack.firstIndex(where: { $0 === group }) {
      for group in redoStack[...index] { closedByteCount -= group.byteCount }
      redoStack.removeFirst(index + 1)
    }
  }

  /// Adds to the size of a group that may already be closed.
  func addBytes(_ bytes: Int, in group: UndoGroup) {
    group.byteCount += bytes
    if openGroups.contains(where: { $0 === group }) { openByteCount += bytes } else if group !== applied { closedByteCount += bytes }
  }

  /// The number of bytes that all groups take.
  public var byteCount: Int { closedByteCount + openByteCount }

  /// Removes all actions, of the context and of the application. Open groups stay open and become empty.
  ///
  /// ``ManagedObjectContext/rollback()`` and ``ManagedObjectContext/reset()`` call this method.
  public func removeAllActions() {
    clearCount += 1
    (undoStack, redoStack) = ([], [])
    for group in openGroups { group.removeAll() }
    (closedByteCount, openByteCount) = (0, 0)
    dropReason = nil
    lastDroppedGroup = nil
    updateActiveGroup()
  }

  /// Removes the application's actions that have the given target.
  public func removeAllActions(withTarget target: AnyObject) {
    for group in undoStack + redoStack + openGroups { group.removeActions(of: target) }
    undoStack.removeAll(where: \.isEmpty)
    redoStack.removeAll(where: \.isEmpty)
    closedByteCount = (undoStack + redoStack).reduce(0) { $0 + $1.byteCount }
  }

  // MARK: Registration

  /// Whether changes are recorded; see ``disableUndoRegistration()``.
  public var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

  /// Stops recording changes, for example during an import, until ``enableUndoRegistration()`` has been called as many times.
  ///
  /// Undoing an earlier change afterwards restores individual properties, and overwrites changes that were not recorded.
  public func disableUndoRegistration() { disabledCount += 1 }

  /// Resumes recording changes.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if recording is not disabled.
  public func enableUndoRegistration() throws {
    if disabledCount == 0 { throw StoreError(.undoRegistrationEnabled, operation: .undo) }
    disabledCount -= 1
  }

  /// Whether recording is suspended for an internal operation.
  var isSuspended: Bool { suspensionCount > 0 }
  /// Suspends recording for an internal operation, until ``resume()``.
  func suspend() { suspensionCount += 1 }
  func resume() { suspensionCount -= 1 }

  // MARK: The context

  /// The context that the manager belongs to; `nil` if there is none or it was deallocated.
  var context: ManagedObjectContext? { contextNumber == 0 ? nil : ContextRegistry.context(contextNumber) }

  /// Whether the manager has no context, and therefore records no changes automatically.
  package var hasNoContext: Bool { context == nil }

  /// Stores an error that cannot be thrown, so that the context's next save throws it. Returns `false` if there is no context.
  package func recordInContext(_ error: any Error) -> Bool {
    guard let context else { return false }
    context.record(error)
    return true
  }

  func record(_ reason: StoreError.Reason) { context?.record(StoreError(reason, operation: .undo)) }

  /// Attaches the manager to the context with the given number.
  func attach(toContext number: UInt64) { contextNumber = number }

  /// Detaches the manager from its context, and removes all actions.
  func detach() {
    contextNumber = 0
    removeAllActions()
  }
}

// MARK: - The context's undo manager

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
      recorder?.detach()
      eventObservers.setRecorder(newValue)
      newValue?.attach(toContext: number)
      disableInPlaceWrites()
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
  private func disableInPlaceWrites() {
    if recordsWrites { registry.forEach { $0.flags.remove(.writesInPlace) } }
  }
}
