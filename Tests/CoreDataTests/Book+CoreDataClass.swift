// Classes of the model Library as editors write them, without Objective-C names.
// swift-format-ignore-file
import CoreData
import Foundation

public class Book: NSManagedObject {
  enum State: Int16 { case wanted, owned, lent }

  private(set) var startedSaves = 0

  public override func awakeFromInsert() {
    super.awakeFromInsert()
    setPrimitiveValue(UUID(), forKey: "identifier")
  }

  public override func willSave() {
    super.willSave()
    startedSaves += 1
  }
}

public class Comic: Book {
  @NSManaged public var artist: String?
  @NSManaged public var chapters: NSNumber
  @NSManaged public var fans: Set<Author>
  @NSManaged public var writer: Author
}

public class Author: NSManagedObject {
  private(set) var isMadeByItsOwnInitializer = false

  public required init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    super.init(entity: entity, insertInto: context)
    isMadeByItsOwnInitializer = true
  }

  #if !canImport(ObjectiveC)
    public required init(_ seed: ManagedObjectSeed) { super.init(seed) }
  #endif

  override public var description: String { "the author \(name ?? "?")" }
}
