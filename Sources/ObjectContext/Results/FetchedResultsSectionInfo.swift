// FetchedResultsSectionInfo: a section of results.
import ObjectModel

/// A section of the results of a ``FetchedResultsController``. It belongs to the isolation of the controller's context, and keeps no object alive.
public struct FetchedResultsSectionInfo<Object: ManagedObject> {
  /// The section's name: the value of what names sections, as a text; empty where there is none.
  public let name: String
  /// What stands for the section in an index beside a list; nil for none.
  public let indexTitle: String?
  /// How many objects were in the section when it was asked for.
  public let numberOfObjects: Int
  private weak var controller: FetchedResultsController<Object>?

  init(name: String, indexTitle: String?, numberOfObjects: Int, controller: FetchedResultsController<Object>) {
    (self.name, self.indexTitle, self.numberOfObjects) = (name, indexTitle, numberOfObjects)
    self.controller = controller
  }

  /// The objects that are in the section of this name now, in order; those that are not in memory are faults, which are read together.
  public var objects: [Object] { controller?.objects(inSection: name) ?? [] }
}
