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
    get { _value(0) }
    set { _setValue(newValue, at: 0) }
  }
  var version: String {
    get { _value(1) }
    set { _setValue(newValue, at: 1) }
  }
  var architecture: String {
    get { _value(2) }
    set { _setValue(newValue, at: 2) }
  }
  var priority: String? {
    get { _optionalValue(3) }
    set { _setOptionalValue(newValue, at: 3) }
  }
  var essential: Bool {
    get { _value(4) }
    set { _setValue(newValue, at: 4) }
  }
  var installedSize: Int64? {
    get { _optionalValue(5) }
    set { _setOptionalValue(newValue, at: 5) }
  }
  var downloadSize: Int64? {
    get { _optionalValue(6) }
    set { _setOptionalValue(newValue, at: 6) }
  }
  var summary: String? {
    get { _optionalValue(7) }
    set { _setOptionalValue(newValue, at: 7) }
  }
  var homepage: URL? {
    get { _optionalValue(8) }
    set { _setOptionalValue(newValue, at: 8) }
  }
  var sha256: Data? {
    get { _optionalValue(9) }
    set { _setOptionalValue(newValue, at: 9) }
  }
  var section: Section? {
    get { _toOne(10) }
    set { _setToOne(newValue, at: 10) }
  }
  var maintainer: Maintainer? {
    get { _toOne(11) }
    set { _setToOne(newValue, at: 11) }
  }
  var tags: Set<ArchiveTag> {
    get { _toManySet(0) }
    set { _setToMany(Array(newValue), at: 0) }
  }
  func addToTags(_ tag: ArchiveTag) { _addToToMany(tag, at: 0) }
}

final class Section: ManagedObject {
  var name: String {
    get { _value(0) }
    set { _setValue(newValue, at: 0) }
  }
}

final class Maintainer: ManagedObject {
  var name: String? {
    get { _optionalValue(0) }
    set { _setOptionalValue(newValue, at: 0) }
  }
  var email: String {
    get { _value(1) }
    set { _setValue(newValue, at: 1) }
  }
}

final class ArchiveTag: ManagedObject {
  var name: String {
    get { _value(0) }
    set { _setValue(newValue, at: 0) }
  }
  var packageCount: Int { _toManyCount(0) }
}

class PackageRelation: ManagedObject {
  final var package: Package? {
    get { _toOne(0) }
    set { _setToOne(newValue, at: 0) }
  }
  final func addToAlternatives(_ alternative: Alternative) { _addToToMany(alternative, at: 0) }
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
    get { _value(0) }
    set { _setValue(newValue, at: 0) }
  }
  var comparison: String? {
    get { _optionalValue(1) }
    set { _setOptionalValue(newValue, at: 1) }
  }
  var version: String? {
    get { _optionalValue(2) }
    set { _setOptionalValue(newValue, at: 2) }
  }
}
