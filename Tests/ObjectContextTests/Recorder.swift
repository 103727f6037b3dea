import ObjectContext
import ObjectModel

/// Beds with plants, whose objects are ``Recorder``s.
enum Nursery {
  static let model = ManagedObjectModel {
    Entity("Bed") {
      Attribute("name", .string)
      Attribute("count", .integer64)
      Attribute("scratch", .string).transient()
      Relationship("plants", toMany: "Plant", inverse: "bed").onDelete(.cascade)
    }
    Entity("Plant") {
      Attribute("name", .string)
      Attribute("count", .integer64)
      Attribute("scratch", .string).transient()
      Relationship("bed", to: "Bed", inverse: "plants")
    }
  }
  static let classes = ManagedObjectClasses(["Bed": Recorder.self, "Plant": Recorder.self])
}

/// Records its callbacks, and runs a test's closures.
final class Recorder: ManagedObject {
  var log: [String] = []
  var onWillSave: ((Recorder) -> Void)?
  var onDidSave: ((Recorder) -> Void)?
  var onAwakeFromFetch: ((Recorder) -> Void)?
  var onValidate: ((Recorder) throws -> Void)?

  override func awakeFromInsert() { log.append("awakeFromInsert") }
  override func awakeFromFetch() {
    log.append("awakeFromFetch")
    if self["name"] as? String == "greeted" { try? setValue("hello", forKey: "scratch") }
    if self["name"] as? String == "defaced" { try? setValue(Int64(99), forKey: "count") }
  }
  override func awake(fromSnapshotEvents events: SnapshotEvents) { log.append("awakeFromSnapshot \(events.rawValue)") }
  override func willSave() {
    log.append("willSave")
    onWillSave?(self)
  }
  override func didSave() {
    log.append(isDeleted ? "didSave deleted" : "didSave")
    onDidSave?(self)
  }
  override func prepareForDeletion() {
    let related = entity.name == "Bed" ? "\(many("plants").count)" : one("bed")?.text("name") ?? "-"
    log.append("prepareForDeletion \(related)")
  }
  override func willTurnIntoFault() { log.append("willTurnIntoFault \(isFault)") }
  override func didTurnIntoFault() { log.append("didTurnIntoFault \(isFault)") }
  override func validateForInsert() throws {
    log.append("validateForInsert")
    try onValidate?(self)
    try super.validateForInsert()
  }
  override func validateForUpdate() throws {
    log.append("validateForUpdate")
    try onValidate?(self)
    try super.validateForUpdate()
  }
  override func validateForDelete() throws {
    log.append("validateForDelete")
    try super.validateForDelete()
  }
}

extension ManagedObjectContext {
  @discardableResult
  func recorder(_ entityName: String, _ values: [String: Any] = [:]) throws -> Recorder {
    guard let recorder = try make(entityName, values) as? Recorder else {
      throw RecorderError()
    }
    return recorder
  }
}

struct RecorderError: Error {}
