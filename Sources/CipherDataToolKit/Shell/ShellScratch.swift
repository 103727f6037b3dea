// ShellScratch: the contexts of a shell: the one over the store, and the drafts over it.
import Foundation
import ObjectContext
import ObjectStore

/// What a shell has changed and not saved. It lives where its contexts do.
///
/// Without a draft each change is saved at once. `begin` lays a nested context over what there is: what follows is changed there, until it is saved into what
/// lies below it, or given up.
final class ShellScratch {
  /// How it stands, for the prompt.
  struct State: Sendable, Hashable {
    /// How many drafts lie one over the other.
    var draftCount = 0
    /// How many objects have unsaved changes, in all drafts together.
    var unsavedCount = 0
  }

  /// More objects than these are changed in the store, without objects in memory, and cannot be changed back by the shell.
  static let objectLimit = 100_000
  private static let key = "CipherData.ShellScratch"

  private let root: ManagedObjectContext
  private var drafts: [ManagedObjectContext] = []
  /// Why the last change cannot be undone, as long as nobody was told.
  private var untold: String?

  private init(_ root: ManagedObjectContext) {
    self.root = root
    root.undoManager = ContextUndoManager()
  }

  /// The scratch over a context, which keeps it.
  static func over(_ root: ManagedObjectContext) -> ShellScratch {
    if let known = root.userInfo[key] as? ShellScratch { return known }
    let made = ShellScratch(root)
    root.userInfo[key] = made
    return made
  }

  /// The context that is changed: that of the last draft.
  var context: ManagedObjectContext { drafts.last ?? root }

  /// Whether changes are kept until somebody saves them.
  var isDraft: Bool { !drafts.isEmpty }

  /// Whether the next change is saved at once: there is no draft, and nothing that could not be saved.
  private var isAtRest: Bool { !isDraft && !root.hasChanges }

  /// Makes a context for queries. It shows unsaved changes; the objects that it reads are released with it.
  func makeReader() -> ManagedObjectContext {
    // The undo manager keeps objects of earlier lines, which other processes may have changed since.
    if isAtRest { root.refreshAllObjects() }
    return ManagedObjectContext(parent: context)
  }

  var state: State {
    let unsaved = ([root] + drafts).map { $0.insertedObjects.count + $0.updatedObjects.count + $0.deletedObjects.count }
    return State(draftCount: drafts.count, unsavedCount: unsaved.reduce(0, +))
  }

  /// Makes a change: in the draft, or, where there is none, in the store.
  ///
  /// It is tried in a context of its own first: of what fails nothing is left.
  ///
  /// - Parameter name: What ``undo()`` and ``redo()`` call it.
  /// - Returns: How many objects were changed or deleted; of a dry run, how many meet the condition.
  func perform(_ change: BatchChange, named name: String) throws -> Int {
    if change.isDryRun { return try change.dryRun(in: makeReader()) }
    guard isAtRest else { return try changeObjects(change, named: name) }
    return try saveInOneTransaction {
      guard try change.dryRun(in: root) > Self.objectLimit else { return try changeObjects(change, named: name) }
      let count = try change.changeRows(in: root)
      root.undoManager?.removeAllActions()
      untold = "\(name) cannot be undone: it concerns more than \(Self.objectLimit) objects, and is done without any in memory."
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

  /// Saves a nested context into the one that is changed, as one group of its undo manager.
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

  /// Takes the last change back; without a draft that is saved.
  ///
  /// - Returns: What it was.
  func undo() throws -> String {
    guard let manager = context.undoManager, manager.canUndo else { throw ToolError(.usage, "There is nothing to undo.") }
    let name = manager.undoActionName
    try go { try context.undo() }
    return name
  }

  /// Makes the change again that was taken back last; without a draft that is saved.
  ///
  /// - Returns: What it is.
  func redo() throws -> String {
    guard let manager = context.undoManager, manager.canRedo else { throw ToolError(.usage, "There is nothing to redo.") }
    let name = manager.redoActionName
    try go { try context.redo() }
    return name
  }

  private func go(_ step: () throws -> Void) throws {
    if isAtRest { try saveInOneTransaction(step) } else { try step() }
  }

  private func saveOrRollBack() throws {
    do { try root.save() } catch {
      root.rollback()
      throw error
    }
  }

  /// Why something that was done since this was asked last cannot be undone; nil as a rule.
  func takeWhatCannotBeUndone() -> String? {
    defer {
      untold = nil
      context.undoManager?.lastDroppedGroup = nil
    }
    return untold ?? context.undoManager?.lastDroppedGroup?.description
  }

  /// Begins a draft over what there is.
  ///
  /// - Parameter isNested: Whether a draft may be open.
  func begin(isNested: Bool) throws {
    if isDraft, !isNested {
      throw ToolError(.usage, "A draft is open. Use save or discard first, or begin --nested for a draft over it.")
    }
    let draft = ManagedObjectContext(parent: context)
    draft.undoManager = ContextUndoManager()
    drafts.append(draft)
  }

  /// Saves the last draft into what lies below it: another draft, or the store.
  ///
  /// - Returns: How many objects were saved.
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

  /// Gives up the last draft; without one, what could not be saved.
  ///
  /// - Returns: How many objects had changes.
  func discard() -> Int {
    let count = changeCount(context)
    if drafts.popLast() == nil { root.rollback() }
    return count
  }

  /// Lets go of all drafts, which hold what lies below them.
  func end() {
    drafts = []
    root.userInfo[Self.key] = nil
  }

  private func changeCount(_ context: ManagedObjectContext) -> Int {
    context.processPendingChanges()
    return context.insertedObjects.count + context.updatedObjects.count + context.deletedObjects.count
  }
}
