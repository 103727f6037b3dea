import Foundation
import ObjectContext
import ObjectStore

/// The unsaved changes of a shell session: the context of the store and the nested contexts of drafts. It is isolated like its contexts.
///
/// Without a draft, each change is saved immediately. `begin` creates a draft, a nested context. Later changes go there until the draft is
/// saved into its parent or discarded.
final class ShellDrafts {
  /// The state that the prompt shows.
  struct State: Sendable, Hashable {
    /// The number of nested drafts.
    var draftCount = 0
    /// The number of objects with unsaved changes in all drafts.
    var unsavedCount = 0
  }

  /// The maximum number of objects that are changed in memory. Changes of more objects are made in the store directly and cannot be undone
  /// by the shell.
  static let objectLimit = 100_000
  private static let key = "CipherData.ShellDrafts"

  private let root: ManagedObjectContext
  private var drafts: [ManagedObjectContext] = []
  /// The reason why the last change cannot be undone, until it has been reported.
  private var unreportedReason: String?

  private init(_ root: ManagedObjectContext) {
    self.root = root
    root.undoManager = ContextUndoManager()
  }

  /// Returns the scratch of a context, which retains it.
  static func over(_ root: ManagedObjectContext) -> ShellDrafts {
    if let known = root.userInfo[key] as? ShellDrafts { return known }
    let made = ShellDrafts(root)
    root.userInfo[key] = made
    return made
  }

  /// The context that receives changes: that of the last draft.
  var context: ManagedObjectContext { drafts.last ?? root }

  /// Whether changes are kept until they are saved explicitly.
  var isDraft: Bool { !drafts.isEmpty }

  /// Whether the next change is saved immediately: there is no draft, and no change that failed to save.
  private var savesImmediately: Bool { !isDraft && !root.hasChanges }

  /// Creates a context for queries. It includes unsaved changes and releases its objects when it is deallocated.
  func makeReader() -> ManagedObjectContext {
    // The undo manager retains objects of earlier lines, which other processes can have changed since.
    if savesImmediately { root.refreshAllObjects() }
    return ManagedObjectContext(parent: context)
  }

  var state: State {
    let unsaved = ([root] + drafts).map { $0.insertedObjects.count + $0.updatedObjects.count + $0.deletedObjects.count }
    return State(draftCount: drafts.count, unsavedCount: unsaved.reduce(0, +))
  }

  /// Performs a change in the draft or, without a draft, in the store.
  ///
  /// The change runs in a separate context first, so that a failure has no effect.
  ///
  /// - Parameter name: The action name for ``undo()`` and ``redo()``.
  /// - Returns: The number of objects changed or deleted; for a dry run, the number of matching objects.
  func perform(_ change: BatchChange, named name: String) throws -> Int {
    if change.isDryRun { return try change.dryRun(in: makeReader()) }
    guard savesImmediately else { return try changeObjects(change, named: name) }
    return try saveInOneTransaction {
      guard try change.dryRun(in: root) > Self.objectLimit else { return try changeObjects(change, named: name) }
      let count = try change.changeRows(in: root)
      root.undoManager?.removeAllActions()
      unreportedReason = "\(name) cannot be undone: it changes more than \(Self.objectLimit) objects, directly in the store."
      return count
    }
  }

  private func changeObjects(_ change: BatchChange, named name: String) throws -> Int {
    let attempt = ManagedObjectContext(parent: context)
    let count = try change.changeObjects(in: attempt)
    try push(attempt, named: name)
    return count
  }

  /// Changes objects and saves them in one transaction of the store, so that no other process writes between the fetch and the save.
  private func saveInOneTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    var result: Result?
    do {
      try root.persistentStoreCoordinator.performTransaction {
        root.refreshAllObjects()
        result = nil
        let changed = try body()
        try saveOrRollBack()
        result = changed
      }
    } catch {
      // The context has saved, but the store could not commit.
      if result != nil { root.reset() }
      throw error
    }
    guard let result else { throw ToolError(.software, "The store did not run the transaction (a bug in the tool).") }
    return result
  }

  /// Saves a nested context into the context that receives changes, as one undo group.
  private func push(_ nested: ManagedObjectContext, named name: String) throws {
    guard let manager = context.undoManager else { return try nested.save() }
    manager.beginUndoGrouping()
    do { try nested.save() } catch {
      try manager.endUndoGrouping()
      throw error
    }
    manager.setActionName(name)
    try manager.endUndoGrouping()
  }

  /// Undoes the last change; without a draft, the result is saved.
  ///
  /// - Returns: The action name of the change.
  func undo() throws -> String {
    guard let manager = context.undoManager, manager.canUndo else { throw ToolError(.usage, "There is nothing to undo.") }
    let name = manager.undoActionName
    try go { try context.undo() }
    return name
  }

  /// Redoes the change that was undone last; without a draft, the result is saved.
  ///
  /// - Returns: The action name of the change.
  func redo() throws -> String {
    guard let manager = context.undoManager, manager.canRedo else { throw ToolError(.usage, "There is nothing to redo.") }
    let name = manager.redoActionName
    try go { try context.redo() }
    return name
  }

  private func go(_ step: () throws -> Void) throws {
    if savesImmediately { try saveInOneTransaction(step) } else { try step() }
  }

  private func saveOrRollBack() throws {
    do { try root.save() } catch {
      root.rollback()
      throw error
    }
  }

  /// Returns and clears the reason why a change since the last call cannot be undone; usually `nil`.
  func takeUndoObstacle() -> String? {
    defer {
      unreportedReason = nil
      context.undoManager?.lastDroppedGroup = nil
    }
    return unreportedReason ?? context.undoManager?.lastDroppedGroup?.description
  }

  /// Begins a draft on top of the current context.
  ///
  /// - Parameter isNested: Whether to begin the draft inside an open one, which is otherwise an error.
  func begin(isNested: Bool) throws {
    if isDraft, !isNested {
      throw ToolError(.usage, "A draft is open. Use save or discard first, or begin --nested for a draft inside it.")
    }
    let draft = ManagedObjectContext(parent: context)
    draft.undoManager = ContextUndoManager()
    drafts.append(draft)
  }

  /// Saves the last draft into its parent: another draft or the store.
  ///
  /// - Returns: The number of objects saved.
  func save() throws -> Int {
    let count = changeCount(context)
    if let draft = drafts.last {
      drafts.removeLast()
      do { try push(draft, named: "save") } catch {
        drafts.append(draft)
        throw error
      }
    }
    if !isDraft { try root.save() }
    return count
  }

  /// Discards the last draft; without a draft, the changes that failed to save.
  ///
  /// - Returns: The number of objects with changes.
  func discard() -> Int {
    let count = changeCount(context)
    if drafts.popLast() == nil { root.rollback() }
    return count
  }

  /// Releases all drafts, which retain their parents.
  func end() {
    drafts = []
    root.userInfo[Self.key] = nil
  }

  private func changeCount(_ context: ManagedObjectContext) -> Int {
    context.processPendingChanges()
    return context.insertedObjects.count + context.updatedObjects.count + context.deletedObjects.count
  }
}
