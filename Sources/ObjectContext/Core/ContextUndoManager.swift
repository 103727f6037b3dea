// ContextUndoManager: what was changed in a context, in groups that can be taken back and made again.
import ObjectModel
import ObjectStore

/// What was changed in a context, in groups that can be undone and redone.
///
/// ```swift
/// context.undoManager = ContextUndoManager()
/// context.perform {
///   book.title = "Ulysses"
///   context.undoManager?.setActionName("Rename")
/// }
/// try context.undo()   // the former title
/// try context.redo()   // and the new one again
/// ```
///
/// It has the names of Foundation's `UndoManager`, and is not one: it belongs to one context, and lives in the context's isolation. Every change of attributes
/// and relationships, every insertion, and every deletion with what its rules did is recorded by itself, as what there was before; the application's own actions
/// (``registerUndo(withTarget:handler:)``) stand among them. Undoing brings back what there was, and calls neither setters nor delete rules nor validation; the
/// save after it does. See <doc:Undo>.
///
/// A recorded number takes 48 bytes, a text as many more as it has, and writing costs some tens of nanoseconds more than without an undo manager.
public final class ContextUndoManager {
  /// A group that could not be kept.
  public struct DroppedGroup: Sendable, Hashable, CustomStringConvertible {
    /// Why a group is not kept.
    public enum Reason: Sendable, Hashable {
      /// By itself it takes more than ``ContextUndoManager/undoByteLimit``.
      case largerThanLimit
      /// A save has deleted objects or replaced large values that could not be read before.
      case unreadable
    }

    /// The name of the action.
    public let actionName: String
    /// Why it is not kept.
    public let reason: Reason

    /// What happened, in a sentence.
    public var description: String {
      let what = actionName.isEmpty ? "The last action" : "“\(actionName)”"
      switch reason {
      case .largerThanLimit: return "\(what) cannot be undone: it takes more memory than undoByteLimit allows."
      case .unreadable: return "\(what) cannot be undone: what it has replaced could not be read."
      }
    }
  }

  /// What it does at the moment.
  enum Activity { case idle, undoing, redoing }

  /// Makes a manager without a context: set it as a context's ``ManagedObjectContext/undoManager``.
  public init() {}

  // MARK: Settings

  /// Whether changes outside of ``beginUndoGrouping()`` and ``endUndoGrouping()`` are a group for each event, which a save,
  /// ``ManagedObjectContext/processPendingChanges()`` or ``ManagedObjectContext/perform(_:)`` ends. True unless set.
  ///
  /// Where it is false, a change outside of groups is not recorded, of which ``ManagedObjectContext/pendingError`` tells.
  public var groupsByEvent = true
  /// How many groups are kept; any number when it is 0, which is the default. The oldest ones go.
  public var levelsOfUndo = 0 {
    didSet { dropOldest() }
  }
  /// How many bytes the groups may take together: 64 MiB unless set. The oldest ones go, whole; one that takes more by itself is not kept, nor are those
  /// before it: see ``lastDroppedGroup``.
  public var undoByteLimit: Int {
    get { byteLimit }
    set {
      byteLimit = newValue
      dropOldest()
    }
  }
  // Unchecked as `taking`.
  @exclusivity(unchecked) private var byteLimit = 64 << 20
  /// The last group that was not kept although it was not among the oldest ones; nil where there was none since ``removeAllActions()``.
  public package(set) var lastDroppedGroup: DroppedGroup?

  // MARK: Groups

  /// The groups that can be undone, the newest one last, and those that can be redone.
  private(set) var undoStack: [UndoGroup] = []
  private(set) var redoStack: [UndoGroup] = []
  /// The last group that was closed, as long as nothing was undone or redone since: a name that is set then is its.
  private var lastClosed: ObjectIdentifier?
  /// The groups that are open, the outermost one first.
  private(set) var openGroups: [UndoGroup] = []
  /// The group that is being undone or redone, which is in no stack.
  var applied: UndoGroup?
  /// Whether the outermost open group is that of the event.
  // Unchecked as `taking`.
  @exclusivity(unchecked) private(set) var isEventGroup = false
  /// Why the open groups are not kept, and take nothing more; nil while they are.
  private var dropReason: DroppedGroup.Reason?
  /// The bytes of the open groups.
  // Unchecked as `taking`.
  @exclusivity(unchecked) private var openByteCount = 0
  /// The bytes of all others.
  private var closedByteCount = 0
  private(set) var activity = Activity.idle { didSet { updateTaking() } }
  /// What was done last.
  private var lastActivity = Activity.idle
  private(set) var disabledCount = 0 { didSet { updateTaking() } }
  /// How many of the library's own works go on whose changes are not recorded.
  private var suspensionCount = 0 { didSet { updateTaking() } }
  /// Whether the context saves.
  var isSaving = false
  /// How often everything was removed.
  private(set) var clearCount = 0
  /// The number of the context that it belongs to; 0 for none.
  private(set) var contextNumber: UInt64 = 0
  /// The innermost open group that takes records; nil where none is open or nothing is recorded.
  // Asked by every write of a context's isolation, which admits one access at a time; nothing under an access calls back.
  @exclusivity(unchecked) private var taking: UndoGroup?

  private func updateTaking() { taking = isRecording && dropReason == nil ? openGroups.last : nil }

  /// Whether changes are recorded. Undoing records what it changes, whatever the application has said.
  private var isRecording: Bool { suspensionCount == 0 && (disabledCount == 0 || activity != .idle) }

  /// The group that takes records; the event's is opened for the first one. Nil where nothing is recorded.
  @inline(__always) func recordingGroup() -> UndoGroup? { taking ?? openForRecording() }

  /// Whether an open group is that of the event: everything in it was changed since the event began.
  @inline(__always) func isOfEvent(_ group: UndoGroup) -> Bool { isEventGroup && openGroups.count == 1 }

  @inline(never) private func openForRecording() -> UndoGroup? {
    guard isRecording, dropReason == nil, openGroups.isEmpty else { return nil }
    guard groupsByEvent else {
      note(.undoOutsideOfGroups)
      return nil
    }
    isEventGroup = true
    openGroup()
    return taking
  }

  func openGroup() {
    openGroups.append(UndoGroup())
    updateTaking()
  }

  /// Closes the innermost group.
  func closeGroup() {
    guard let group = openGroups.popLast() else { return }
    defer { updateTaking() }
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
      forget(&redoStack)
      lastClosed = ObjectIdentifier(group)
    }
    closedByteCount += group.byteCount
    if activity == .undoing { redoStack.append(group) } else { undoStack.append(group) }
    dropOldest()
  }

  /// Closes the group of the event, if it is open and nothing else is.
  package func closeEventGroup() {
    if isEventGroup, openGroups.count == 1, activity == .idle { closeGroup() }
  }

  /// The group that was closed last, where it has no name and is the next to be undone.
  var unnamedGroup: UndoGroup? { newestGroup?.name.isEmpty ?? false ? newestGroup : nil }

  /// The group that was closed last, where it is the next to be undone.
  var newestGroup: UndoGroup? { undoStack.last.flatMap { ObjectIdentifier($0) == lastClosed ? $0 : nil } }

  /// Begins undoing or redoing: takes the newest group.
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

  /// Begins undoing the last group within the open one.
  func beginNested() -> UndoGroup? {
    guard let group = openGroups.last?.removeLastGroup() else { return nil }
    openByteCount -= group.byteCount
    return group
  }

  /// What work changes belongs to what was undone or redone last, unless something else was changed since.
  func addToLastDone(_ work: () -> Void) {
    guard openGroups.isEmpty, isRecording, let group = lastActivity == .undoing ? redoStack.last : undoStack.last else { return work() }
    let byteCount = group.byteCount
    openGroups = [group]
    updateTaking()
    work()
    group.close()
    closedByteCount += group.byteCount - byteCount
    openByteCount = 0
    openGroups = []
    if let reason = dropReason {
      dropReason = nil
      drop(group, because: reason)
    }
    updateTaking()
    dropOldest()
  }

  /// Ends undoing or redoing.
  func end() {
    lastActivity = activity
    while openGroups.count > 1 { closeGroup() }
    closeGroup()
    applied = nil
    activity = .idle
  }

  // MARK: Bounds

  /// The open group has more bytes. Beyond the limit it is given up at once.
  @inline(__always) func count(_ bytes: Int, in group: UndoGroup) {
    group.byteCount += bytes
    openByteCount += bytes
    if openByteCount > byteLimit { dropOpenGroups(because: .largerThanLimit) }
  }

  @inline(never) private func dropOpenGroups(because reason: DroppedGroup.Reason) {
    for group in openGroups { group.removeAll() }
    dropReason = reason
    openByteCount = 0
    updateTaking()
  }

  /// A group that is not kept ends.
  private func finishDrop(of group: UndoGroup, _ reason: DroppedGroup.Reason) {
    dropReason = nil
    lastDroppedGroup = DroppedGroup(actionName: group.name, reason: reason)
    // Nobody goes back over what is not known.
    forget(&redoStack)
    if activity != .undoing { forget(&undoStack) }
  }

  private func forget(_ stack: inout [UndoGroup]) {
    for group in stack { closedByteCount -= group.byteCount }
    stack = []
  }

  /// Drops the oldest groups until the others keep to the limits.
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
    // Before a save a group may have got more than there is room for.
    let last = stack[count - 1]
    if count == stack.count, last.byteCount > undoByteLimit {
      lastDroppedGroup = DroppedGroup(actionName: last.name, reason: .largerThanLimit)
    }
    stack.removeFirst(count)
  }

  /// A group of a stack is not kept since what it needs could not be read; those before it go too.
  func drop(_ group: UndoGroup, because reason: DroppedGroup.Reason) {
    if openGroups.contains(where: { $0 === group }) { return dropOpenGroups(because: reason) }
    lastDroppedGroup = DroppedGroup(actionName: group.name, reason: reason)
    if let place = undoStack.firstIndex(where: { $0 === group }) {
      for group in undoStack[...place] { closedByteCount -= group.byteCount }
      undoStack.removeFirst(place + 1)
    } else if let place = redoStack.firstIndex(where: { $0 === group }) {
      for group in redoStack[...place] { closedByteCount -= group.byteCount }
      redoStack.removeFirst(place + 1)
    }
  }

  /// A closed group has more bytes than before.
  func countMore(_ bytes: Int, in group: UndoGroup) {
    group.byteCount += bytes
    if openGroups.contains(where: { $0 === group }) { openByteCount += bytes } else if group !== applied { closedByteCount += bytes }
  }

  /// How many bytes the groups take.
  public var byteCount: Int { closedByteCount + openByteCount }

  /// Forgets all actions, of the context and of the application. Groups that are open stay so, and are empty.
  ///
  /// ``ManagedObjectContext/rollback()`` and ``ManagedObjectContext/reset()`` call it.
  public func removeAllActions() {
    clearCount += 1
    (undoStack, redoStack) = ([], [])
    for group in openGroups { group.removeAll() }
    (closedByteCount, openByteCount) = (0, 0)
    dropReason = nil
    lastDroppedGroup = nil
    updateTaking()
  }

  /// Forgets the application's own actions with a target.
  public func removeAllActions(withTarget target: AnyObject) {
    for group in undoStack + redoStack + openGroups { group.removeActions(of: target) }
    undoStack.removeAll(where: \.isEmpty)
    redoStack.removeAll(where: \.isEmpty)
    closedByteCount = (undoStack + redoStack).reduce(0) { $0 + $1.byteCount }
  }

  // MARK: What is recorded

  /// Whether changes are recorded. ``disableUndoRegistration()`` says that they are not.
  public var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

  /// Records nothing until ``enableUndoRegistration()`` was called as often, such as for an import.
  ///
  /// Undoing what was changed before then brings back single properties as they were, over changes that nobody has recorded.
  public func disableUndoRegistration() { disabledCount += 1 }

  /// Records changes again.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` where they are recorded already.
  public func enableUndoRegistration() throws {
    if disabledCount == 0 { throw StoreError(.misuse(.undoRegistrationEnabled), operation: .undo) }
    disabledCount -= 1
  }

  /// Whether the library changes something by itself.
  var isSuspended: Bool { suspensionCount > 0 }
  /// What the library changes by itself is not recorded until ``resume()``.
  func suspend() { suspensionCount += 1 }
  func resume() { suspensionCount -= 1 }

  // MARK: The context

  /// The context that it belongs to; nil where it has none, or that is gone.
  var context: ManagedObjectContext? { contextNumber == 0 ? nil : LivingContexts.context(contextNumber) }

  /// Whether it records nothing by itself.
  package var belongsToNoContext: Bool { context == nil }

  /// Keeps an error that cannot be thrown for the next save of the context; false where there is none.
  package func noteInContext(_ error: any Error) -> Bool {
    guard let context else { return false }
    context.note(error)
    return true
  }

  func note(_ misuse: StoreError.Misuse) { context?.note(StoreError(.misuse(misuse), operation: .undo)) }

  /// It is a context's from now on, or nobody's.
  func join(_ number: UInt64) {
    contextNumber = number
    if number == 0 { removeAllActions() }
  }
}
