import ObjectModel

/// A section of the results of a ``FetchedResultsController``. It belongs to the isolation of the controller's context and retains no
/// objects.
public struct FetchedResultsSectionInfo<Object: ManagedObject> {
  /// The name of the section: its value as text, or an empty string if there is no value.
  public let name: String
  /// The title in the section index of a list; nil for none.
  public let indexTitle: String?
  /// The number of objects in the section when this value was created.
  public let numberOfObjects: Int
  private weak var controller: FetchedResultsController<Object>?

  init(name: String, indexTitle: String?, numberOfObjects: Int, controller: FetchedResultsController<Object>) {
    (self.name, self.indexTitle, self.numberOfObjects) = (name, indexTitle, numberOfObjects)
    self.controller = controller
  }

  /// The objects that are in the section with this name now, in order. Objects that are not in memory are faults that are loaded together.
  public var objects: [Object] { controller?.objects(inSection: name) ?? [] }
}
