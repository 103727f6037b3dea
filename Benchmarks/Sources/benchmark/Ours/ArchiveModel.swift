// Classes for the model of the archive, as the generator writes them from Schemas/DebianArchive.xcdatamodeld.
import CipherData
import Foundation

enum Archive {
  /// The model file of the repository that the benchmark was built in.
  static func model() throws -> ManagedObjectModel {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let bundle = try VersionedModel(contentsOf: root.appendingPathComponent("Schemas/DebianArchive.xcdatamodeld"))
    guard let model = bundle.current else { throw UsageError(message: "Schemas/DebianArchive.xcdatamodeld has no current version") }
    return model
  }

  /// Makes relations, in the order of the index's fields.
  @MainActor static let relations: [(ManagedObjectContext) -> PackageRelation] = [
    Dependency.init(context:), PreDependency.init(context:), Recommendation.init(context:), Suggestion.init(context:),
    Conflict.init(context:), Breakage.init(context:), Replacement.init(context:), Enhancement.init(context:), Provision.init(context:),
  ]

  static let classes = ManagedObjectClasses([
    "Package": Package.self, "Section": Section.self, "Maintainer": Maintainer.self, "Tag": ArchiveTag.self,
    "PackageRelation": PackageRelation.self, "Dependency": Dependency.self, "PreDependency": PreDependency.self,
    "Recommendation": Recommendation.self, "Suggestion": Suggestion.self, "Conflict": Conflict.self, "Breakage": Breakage.self,
    "Replacement": Replacement.self, "Enhancement": Enhancement.self, "Provision": Provision.self, "Alternative": Alternative.self,
  ])
}

final class Package: ManagedObject {
  var name: String {
    get { value(0) }
    set { setValue(newValue, at: 0) }
  }
  var version: String {
    get { value(1) }
    set { setValue(newValue, at: 1) }
  }
  var architecture: String {
    get { value(2) }
    set { setValue(newValue, at: 2) }
  }
  var priority: String? {
    get { optionalValue(3) }
    set { setOptionalValue(newValue, at: 3) }
  }
  var essential: Bool {
    get { value(4) }
    set { setValue(newValue, at: 4) }
  }
  var installedSize: Int64? {
    get { optionalValue(5) }
    set { setOptionalValue(newValue, at: 5) }
  }
  var downloadSize: Int64? {
    get { optionalValue(6) }
    set { setOptionalValue(newValue, at: 6) }
  }
  var summary: String? {
    get { optionalValue(7) }
    set { setOptionalValue(newValue, at: 7) }
  }
  var homepage: URL? {
    get { optionalValue(8) }
    set { setOptionalValue(newValue, at: 8) }
  }
  var sha256: Data? {
    get { optionalValue(9) }
    set { setOptionalValue(newValue, at: 9) }
  }
  var section: Section? {
    get { toOne(10) }
    set { setToOne(newValue, at: 10) }
  }
  var maintainer: Maintainer? {
    get { toOne(11) }
    set { setToOne(newValue, at: 11) }
  }
  var tags: Set<ArchiveTag> {
    get { toManySet(0) }
    set { setToMany(Array(newValue), at: 0) }
  }
  func addToTags(_ tag: ArchiveTag) { addToToMany(tag, at: 0) }
}

final class Section: ManagedObject {
  var name: String {
    get { value(0) }
    set { setValue(newValue, at: 0) }
  }
}

final class Maintainer: ManagedObject {
  var name: String? {
    get { optionalValue(0) }
    set { setOptionalValue(newValue, at: 0) }
  }
  var email: String {
    get { value(1) }
    set { setValue(newValue, at: 1) }
  }
}

final class ArchiveTag: ManagedObject {
  var name: String {
    get { value(0) }
    set { setValue(newValue, at: 0) }
  }
  var packageCount: Int { toManyCount(0) }
}

class PackageRelation: ManagedObject {
  final var package: Package? {
    get { toOne(0) }
    set { setToOne(newValue, at: 0) }
  }
  final func addToAlternatives(_ alternative: Alternative) { addToToMany(alternative, at: 0) }
}

final class Dependency: PackageRelation {}
final class PreDependency: PackageRelation {}
final class Recommendation: PackageRelation {}
final class Suggestion: PackageRelation {}
final class Conflict: PackageRelation {}
final class Breakage: PackageRelation {}
final class Replacement: PackageRelation {}
final class Enhancement: PackageRelation {}
final class Provision: PackageRelation {}

final class Alternative: ManagedObject {
  var packageName: String {
    get { value(0) }
    set { setValue(newValue, at: 0) }
  }
  var comparison: String? {
    get { optionalValue(1) }
    set { setOptionalValue(newValue, at: 1) }
  }
  var version: String? {
    get { optionalValue(2) }
    set { setOptionalValue(newValue, at: 2) }
  }
}
