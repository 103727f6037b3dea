// ContextUndoManager+Undoing: groups, undoing and redoing, and the application's own actions.
import ObjectStore

extension ContextUndoManager {
  // MARK: Groups

  /// How many groups are open.
  public var groupingLevel: Int { openGroups.count }

  /// Begins a group: what is changed until ``endUndoGrouping()`` is undone together. Groups may stand in groups. Within an event it becomes a part of the
  /// event's group.
  ///
  /// What was changed before is settled first: delete rules are applied, and observers are told.
  public func beginUndoGrouping() {
    settle()
    openGroup()
  }

  /// Ends the group that was begun last, after what was changed in it is settled. One without changes is forgotten.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` where none was begun.
  public func endUndoGrouping() throws {
    guard openGroups.count > (isEventGroup ? 1 : 0), activity == .idle || openGroups.count > 1 else {
      throw StoreError(.misuse(.undoGroupNotOpen), operation: .undo)
    }
    settle()
    closeGroup()
  }

  /// Applies the delete rules of what was deleted, and tells of what was changed.
  private func settle() {
    guard activity == .idle, !isSaving, let context else { return }
    context.noticeChangesInPlace()
    context.endEvent()
  }

  // MARK: Undoing

  /// Whether something is being undone.
  public var isUndoing: Bool { activity == .undoing }
  /// Whether something is being redone.
  public var isRedoing: Bool { activity == .redoing }

  /// Whether there is something to undo.
  public var canUndo: Bool { !undoStack.isEmpty || isIdleGroupFilled }
  /// Whether there is something to redo. A change forgets what was undone.
  public var canRedo: Bool { !redoStack.isEmpty && !isIdleGroupFilled }

  private var isIdleGroupFilled: Bool { activity == .idle && openGroups.first.map { !$0.isEmpty } ?? false }

  /// Takes back the last group. The group of the event under way ends first, and so does one that was begun, if it is the only open one. Without a group
  /// nothing happens.
  ///
  /// Values, members and their order, and whether objects are there are as they were before; after a save these are new changes, which the next save checks as
  /// any. No setter, delete rule or validation is called; objects hear of it by ``ManagedObject/awake(fromSnapshotEvents:)``, observers at the end. What others
  /// have deleted meanwhile stays deleted. The rows that it needs are read first, with one statement for each entity.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` where groups are open in each other, or while the context is saved, undone or redone; or
  ///   what the store throws, and nothing is changed then.
  public func undo() throws { try run(.undoing) }

  /// Makes the changes again that ``undo()`` has taken back last. Without such nothing happens.
  ///
  /// - Throws: As ``undo()``; ``StoreError`` with ``StoreError/Code/invalidRequest`` where a group is open that was begun.
  public func redo() throws { try run(.redoing) }

  /// Takes back the last group within the open one, such as one that has just ended; where no group is open, the last one.
  ///
  /// It cannot be redone by itself within the open group: what it has changed is a part of that.
  /// - Throws: As ``undo()``; ``StoreError`` with ``StoreError/Code/invalidRequest`` where the last change in the open group is no group.
  public func undoNestedGroup() throws {
    if openGroups.isEmpty { return try undo() }
    try checkReady()
    settle()
    guard let group = openGroups.last?.groups.last, openGroups.last?.records.last?.kind == .group else {
      throw StoreError(.misuse(.undoNestedGroupMissing), operation: .undo)
    }
    guard let context else {
      if let group = beginNested() { UndoApplication.runActions(of: group) }
      return
    }
    var application = UndoApplication(of: context, self, isRedo: false)
    try application.prepare(group)
    guard let taken = beginNested() else { return }
    // What it changes is taken back by the changes before it, which are still there.
    suspend()
    application.apply(taken)
    resume()
    application.finish()
    context.tellNestedOfEverything()
  }

  private func checkReady() throws {
    if activity != .idle { throw StoreError(.misuse(.undoWhileUndoing), operation: .undo) }
    if isSaving || isSuspended { throw StoreError(.misuse(.undoWhileSaving), operation: .undo) }
  }

  private func run(_ activity: Activity) throws {
    try checkReady()
    if openGroups.count > (isEventGroup || activity == .undoing ? 1 : 0) { throw StoreError(.misuse(.undoInOpenGroup), operation: .undo) }
    settle()
    if openGroups.count == 1 { closeGroup() }
    guard let group = activity == .undoing ? undoStack.last : redoStack.last else { return }
    guard let context else {
      guard let group = begin(activity) else { return }
      UndoApplication.runActions(of: group)
      return end()
    }
    var application = UndoApplication(of: context, self, isRedo: activity == .redoing)
    try application.prepare(group)
    // An observer of what reading has told may have removed it.
    guard let begun = begin(activity), begun === group else { return end() }
    application.apply(group)
    application.finish()
    end()
    context.tellNestedOfEverything()
  }

  // MARK: Names

  /// Names the outermost open group. Where none is open, it names the group that was closed last, if nothing was undone since; in an event in which something is
  /// changed afterwards, it names that event's group instead.
  public func setActionName(_ name: String) {
    if openGroups.isEmpty {
      guard groupsByEvent else {
        newestGroup?.name = name
        return
      }
      _ = recordingGroup()
    }
    openGroups.first?.name = name
  }

  /// The name of what ``undo()`` takes back; empty where it has none.
  public var undoActionName: String {
    if isIdleGroupFilled { return openGroups.first?.name ?? "" }
    // The event has a name and no change yet: without one the name is that of the group before.
    if isEventGroup, openGroups.count == 1, unnamedGroup != nil { return openGroups[0].name }
    return undoStack.last?.name ?? ""
  }
  /// The name of what ``redo()`` makes again; empty where it has none.
  public var redoActionName: String { canRedo ? redoStack.last?.name ?? "" : "" }

  // MARK: The application's own actions

  /// Adds an action of the application to the group: it is called when the group is undone, in its place among the changes. What it registers and changes is
  /// redone.
  ///
  /// The target is not held: of one that is gone nothing is called. Where no group is open and none is made for the event,
  /// ``ManagedObjectContext/pendingError`` tells.
  ///
  /// - Parameters:
  ///   - target: What the action changes.
  ///   - handler: Changes it back. Called in the context's isolation.
  public func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping (Target) -> Void) {
    record(
      UndoGroup.Action(target: target) { object in
        if let target = object as? Target { handler(target) }
      })
  }
}

extension ManagedObjectContext {
  /// Takes back the last group of changes: ``ContextUndoManager/undo()`` of the ``undoManager``. Without one nothing happens.
  ///
  /// - Throws: ``StoreError``.
  public func undo() throws { try undoManager?.undo() }

  /// Makes the changes again that were taken back last: ``ContextUndoManager/redo()`` of the ``undoManager``. Without one nothing happens.
  ///
  /// - Throws: ``StoreError``.
  public func redo() throws { try undoManager?.redo() }
}
