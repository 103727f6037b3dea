import CipherData
import Foundation

/// A draft of an entry in a child context, with its own undo steps. The journal is not changed before the draft is done.
@MainActor final class Sheet {
  private let draft: ManagedObjectContext
  private let entry: Entry

  init(_ entry: Entry, over journal: ManagedObjectContext) throws {
    draft = ManagedObjectContext(parent: journal)
    draft.undoManager = ContextUndoManager()
    // Changes that others save are merged below the draft's own.
    draft.automaticallyMergesChangesFromParent = true
    let objectID = entry.objectID
    guard let own = try draft.existingObject(with: objectID) as? Entry else { throw CocoaError(.coderValueNotFound) }
    self.entry = own
    show()
  }

  /// Performs a command.
  ///
  /// - Returns: Whether the draft is finished; nil if it is not a command for drafts.
  func perform(_ verb: String, _ rest: String) throws -> Bool? {
    draft.processPendingChanges()
    switch verb {
    case "title": entry.title = rest
    case "text": entry.text = rest
    case "move": entry.notebook = try Notebook.named(rest, in: draft)
    case "show": break
    case "undo": try draft.undo()
    case "redo": try draft.redo()
    case "cancel":
      say("given up")
      return true
    case "done":
      // One named undo step of the journal.
      let journal = draft.parent?.undoManager
      journal?.beginUndoGrouping()
      defer { try? journal?.endUndoGrouping() }
      try draft.save()
      journal?.setActionName("edit \(entry.title)")
      say("done: \(entry.title)")
      return true
    default: return nil
    }
    draft.processPendingChanges()
    show()
    return false
  }

  private func show() { say("[\(entry.notebook?.name ?? "")] \(entry.title): \(entry.text)") }
}
