import CoreData
import Foundation
import StoreKeys
import XCTest

/// A container of the model Library as guides set one up, with an encrypted store in a temporary folder.
final class LibraryStack {
  let folder: URL
  let container: NSPersistentContainer
  private(set) var loadError: NSError?

  var context: NSManagedObjectContext { container.viewContext }
  var file: URL { folder.appendingPathComponent("Library.sqlite") }

  init(
    key: StoreKey? = .raw(SecretBytes(Array(repeating: 7, count: 32))), folder: URL? = nil, options: [String: NSObject] = [:]
  ) throws {
    self.folder = folder ?? FileManager.default.temporaryDirectory.appendingPathComponent("coredata-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    container = NSPersistentContainer(name: "Library")
    let description = NSPersistentStoreDescription(url: self.folder.appendingPathComponent("Library.sqlite"))
    description.encryptionKey = key
    for (key, option) in options { description.setOption(option, forKey: key) }
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { [self] _, error in
      if let error = error as NSError? { loadError = error }
    }
  }

  /// Runs `body` with a stack, and removes its files afterwards.
  static func with(_ body: (LibraryStack) throws -> Void) throws {
    let stack = try LibraryStack()
    defer { try? FileManager.default.removeItem(at: stack.folder) }
    XCTAssertNil(stack.loadError)
    try body(stack)
  }

  @discardableResult func book(_ title: String, pages: Int32 = 0) -> Book {
    let book = Book(context: context)
    book.title = title
    book.pages = pages
    return book
  }
}

extension NSManagedObjectModel {
  /// A model with one entity, `Box`, with string attributes.
  static func boxes(_ attributes: String...) -> NSManagedObjectModel { named("Box", attributes: attributes) }

  /// A model with one entity with string attributes.
  static func named(_ name: String, attributes: [String]) -> NSManagedObjectModel {
    let box = NSEntityDescription()
    box.name = name
    box.properties = attributes.map { name in
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType) = (name, .stringAttributeType)
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [box]
    return model
  }
}
