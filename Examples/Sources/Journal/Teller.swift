import CipherData
import Foundation

/// Prints the changes of the list with their positions, whichever process made them. For many changes, such as those of an import, it
/// prints only their number.
@MainActor final class Teller: @MainActor FetchedResultsControllerDelegate {
  func controller(_ controller: FetchedResultsController<Entry>, didChangeContentWith change: ResultsChange) {
    let count = change.removed.count + change.inserted.count + change.moved.count + change.updated.count
    if count > 20 { return say("~ \(count) entries") }
    func title(_ place: IndexPath) -> String { controller.object(at: place)?.title ?? "" }
    for section in change.removedSections { say("- \(section.index)  [\(section.name)]") }
    for section in change.insertedSections { say("+ \(section.index)  [\(section.name)]") }
    for item in change.removed { say("- \(text(item.indexPath))") }
    for item in change.inserted { say("+ \(text(item.indexPath))  \(title(item.indexPath))") }
    for item in change.moved { say("> \(text(item.oldIndexPath)) \(text(item.newIndexPath))  \(title(item.newIndexPath))") }
    for item in change.updated { say("~ \(text(item.newIndexPath))  \(title(item.newIndexPath))") }
  }

  private func text(_ place: IndexPath) -> String { place.map(String.init).joined(separator: ".") }
}
