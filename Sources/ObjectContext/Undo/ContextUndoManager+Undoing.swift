import ObjectStore

extension ContextUndoManager {
  // MARK: Groups

  /// The number of open groups.
  public var groupingLevel: Int { openGroups.count }

  /// Begins an undo group. All changes until ``endUndoGrouping()`` are undone together. Groups can be nested. Within an event, the group
  /// becomes part of the event's group.
  ///
  /// Before the group begins, the context processes earlier changes: it applies delete rules and notifies observers.
  public func beginUndoGrouping() {
    settle()
    openGroup()
  }

  /// Ends the innermost group, after the context has processed the changes in it. A group without changes is discarded.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if no group was begun.
  public func endUndoGrouping() throws {
    guard openGroups.count > (isEventGroup ? 1 : 0), activity == .idle || openGroups.count > 1 else {
      throw StoreError(.undoGroupNotOpen, operation: .undo)
    }
    settle()
    closeGroup()
  }

  /// Applies pending delete rules and notifies observers of pending changes.
  private func settle() {
    guard activity == .idle, !isSaving, let context else { return }
    context.recordInPlaceMutations()
    context.endEvent()
  }

  // MARK: Undoing

  /// Whether an undo operation is in progress.
  public var isUndoing: Bool { activity == .undoing }
  /// Whether a redo operation is in progress.
  public var isRedoing: Bool { activity == .redoing }

  /// Whether there is a group to undo.
  public var canUndo: Bool { !undoStack.isEmpty || isIdleGroupFilled }
  /// Whether there is a group to redo. A new change clears the redo stack.
  public var canRedo: Bool { !redoStack.isEmpty && !isIdleGroupFilled }

  private var isIdleGroupFilled: Bool { activity == .idle && openGroups.first.map { !$0.isEmpty } ?? false }

  /// Undoes the last group. Does nothing if there is none.
  ///
  /// First ends the group of the current event, or an explicitly begun group if it is the only open one.
  ///
  /// Values, members and their order, and the existence of objects return to their earlier state. After a save, the differences are new
  /// changes, which the next save validates as usual. Undoing calls no setters, delete rules or validation. Objects receive
  /// ``ManagedObject/awake(fromSnapshotEvents:)``; observers are notified at the end. Objects that other contexts have deleted meanwhile
  /// stay deleted. The required rows are read first, with one statement per entity.
  ///
  /// - Throws: ``StoreError`` with ``StoreError/Code/invalidRequest`` if nested groups are open, or if the context is saving, undoing or
  ///   redoing; errors of the store, in which case nothing is changed.
  public func undo() throws { try run(.undoing) }

  /// Redoes the group that ``undo()`` has undone last. Does nothing if there is none.
  ///
  /// - Throws: As ``undo()``; ``StoreError`` with ``StoreError/Code/invalidRequest`` also if an explicitly begun group is open.
  public func redo() throws { try run(.redoing) }

  /// Undoes the last group within the open group, such as one that has just ended. If no group is open, undoes the last group.
  ///
  /// The nested group cannot be redone on its own while the outer group is open, because its changes belong to the outer group.
  ///
  /// - Throws: As ``undo()``; ``StoreError`` with ``StoreError/Code/invalidRequest`` if the last change in the open group is not a group.
  public func undoNestedGroup() throws {
    if openGroups.isEmpty { return try undo() }
    try checkReady()
    settle()
    guard let group = openGroups.last?.groups.last, openGroups.last?.records.last?.kind == .group else {
      throw StoreError(.undoNestedGroupMissing, operation: .undo)
    }
    guard let context else {
      if let group = beginNested() { UndoApplication.runActions(of: group) }
      return
    }
    var application = UndoApplication(of: context, self, isRedo: false)
    try application.prepare(group)
    guard let taken = beginNested() else { return }
    // Needs no records: the earlier records of the open group remain and restore the state before them.
    suspend()
    application.apply(taken)
    resume()
    application.finish()
    context.invalidateNested()
  }

  private func checkReady() throws {
    if activity != .idle { throw StoreError(.undoWhileUndoing, operation: .undo) }
    if isSaving || isSuspended { throw StoreError(.undoWhileSaving, operation: .undo) }
  }

  private func run(_ activity: Activity) throws {
    try checkReady()
    if openGroups.count > (isEventGroup || activity == .undoing ? 1 : 0) { throw StoreError(.undoInOpenGroup, operation: .undo) }
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
    // An observer notified during `prepare` may have removed the group.
    guard let begun = begin(activity), begun === group else { return end() }
    application.apply(group)
    application.finish()
    end()
    context.invalidateNested()
  }

  // MARK: Names

  /// Sets the action name of the outermost open group. If no group is open, names the group that was closed last, provided that nothing was
  /// undone since. If the current event makes changes afterwards, names the event's group instead.
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

  /// The action name of the group that ``undo()`` undoes; empty if it has none.
  public var undoActionName: String {
    if isIdleGroupFilled { return openGroups.first?.name ?? "" }
    // The event's group has a name but no changes yet. If it stays empty, the name applies to the previous group.
    if isEventGroup, openGroups.count == 1, unnamedGroup != nil { return openGroups[0].name }
    return undoStack.last?.name ?? ""
  }
  /// The action name of the group that ``redo()`` redoes; empty if it has none.
  public var redoActionName: String { canRedo ? redoStack.last?.name ?? "" : "" }

  // MARK: Custom actions

  /// Registers a custom undo action in the current group. Undoing the group calls the handler in order among the recorded changes. Actions
  /// and changes that the handler registers can be redone.
  ///
  /// The target is not retained; the handler is not called after the target is released. If no group is open and none is created for the
  /// event, the error is reported in ``ManagedObjectContext/pendingError``.
  ///
  /// - Parameters:
  ///   - target: The object that the action changes.
  ///   - handler: Reverts the change. Called in the context's isolation.
  public func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping (Target) -> Void) {
    record(
      UndoGroup.Action(target: target) { object in
        if let target = object as? Target { handler(target) }
      })
  }
}

extension ManagedObjectContext {
  /// Undoes the last group of changes: ``ContextUndoManager/undo()`` of the ``undoManager``. Does nothing without an undo manager.
  ///
  /// - Throws: ``StoreError``.
  public func undo() throws { try undoManager?.undo() }

  /// Redoes the group of changes that was undone last: ``ContextUndoManager/redo()`` of the ``undoManager``. Does nothing without an undo
  /// manager.
  ///
  /// - Throws: ``StoreError``.
  public func redo() throws { try undoManager?.redo() }
}

extension StoreError.Reason {
  static var undoGroupNotOpen: Self { Self(.invalidRequest, "No undo group is open; begin one first.") }
  static var undoInOpenGroup: Self { Self(.invalidRequest, "An undo group is open; end it before undoing or redoing.") }
  static var undoWhileUndoing: Self { Self(.invalidRequest, "An undo or redo is in progress; wait until it ends.") }

  static var undoWhileSaving: Self {
    Self(.invalidRequest, "The context is saving, merging changes, or in a transaction; undo or redo before or after that.")
  }

  static var undoNestedGroupMissing: Self {
    Self(.invalidRequest, "The last change in the open undo group is not a nested group, so it cannot be undone separately.")
  }

  static var undoOutsideOfGroups: Self {
    Self(
      .invalidRequest,
      "A change outside of undo groups cannot be undone; begin a group first, or let the undo manager group changes by events.")
  }

  static var undoRegistrationEnabled: Self {
    Self(.invalidRequest, "Undo registration is already enabled; balance each enable call with a disable call.")
  }

  static var undoManagerOfOtherContext: Self {
    Self(.invalidRequest, "An undo manager belongs to one context; create another one for this context.")
  }
}

extension StoreOperation {
  static let undo: Self = "undo"
}
