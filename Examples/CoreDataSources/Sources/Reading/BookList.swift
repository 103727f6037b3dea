// A list that a results controller keeps up to date.
// swift-format-ignore-file
import CoreData

/// The contents of a list on the screen, kept up to date by a fetched results controller.
public final class BookList: NSObject, NSFetchedResultsControllerDelegate {
    public var onChange: (() -> Void)?
    public private(set) var insertedTitles: [String] = []

    private let context: NSManagedObjectContext

    public private(set) lazy var fetchedResultsController: NSFetchedResultsController<Book> = {
        let fetchRequest: NSFetchRequest<Book> = Book.fetchRequest()
        fetchRequest.sortDescriptors = [
            NSSortDescriptor(keyPath: \Book.author?.name, ascending: true),
            NSSortDescriptor(key: "title", ascending: true, selector: NSSelectorFromString("localizedStandardCompare:"))
        ]
        fetchRequest.fetchBatchSize = 20
        let controller = NSFetchedResultsController(
            fetchRequest: fetchRequest,
            managedObjectContext: context,
            sectionNameKeyPath: "author.name",
            cacheName: nil
        )
        controller.delegate = self
        return controller
    }()

    public init(context: NSManagedObjectContext) {
        self.context = context
        super.init()
    }

    public func load() throws {
        try fetchedResultsController.performFetch()
    }

    public var sectionTitles: [String] { fetchedResultsController.sections?.map { $0.name } ?? [] }

    public func titles(inSection section: Int) -> [String] {
        guard let sections = fetchedResultsController.sections, sections.indices.contains(section) else { return [] }
        return (sections[section].objects as? [Book])?.map { $0.wrappedTitle } ?? []
    }

    // MARK: - NSFetchedResultsControllerDelegate

    public func controller(_ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?) {
        guard let book = anObject as? Book else { return }
        switch type {
        case .insert:
            insertedTitles.append(book.wrappedTitle)
        case .delete, .move, .update:
            break
        @unknown default:
            break
        }
    }

    public func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
        guard controller === fetchedResultsController else { return }
        onChange?()
    }
}
