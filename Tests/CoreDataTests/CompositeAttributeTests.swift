import CoreData
import Foundation
import XCTest

/// Composite attributes in models made in code.
final class CompositeAttributeTests: XCTestCase {
  private func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    (attribute.name, attribute.attributeType) = (name, type)
    return attribute
  }

  private func composite(_ name: String, _ elements: [NSAttributeDescription]) -> NSCompositeAttributeDescription {
    let composite = NSCompositeAttributeDescription()
    (composite.name, composite.elements) = (name, elements)
    return composite
  }

  /// Persons with a home, which consists of a city and a place of two numbers.
  private func model() -> NSManagedObjectModel {
    let place = composite("place", [attribute("latitude", .doubleAttributeType), attribute("longitude", .doubleAttributeType)])
    let person = NSEntityDescription()
    person.name = "Person"
    person.properties = [attribute("name", .stringAttributeType), composite("home", [attribute("city", .stringAttributeType), place])]
    let model = NSManagedObjectModel()
    model.entities = [person]
    return model
  }

  private func container(_ model: NSManagedObjectModel) -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Persons", managedObjectModel: model)
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { XCTAssertNil($1) }
    return container
  }

  func testCompositesAreDictionariesWithQueryableElements() throws {
    let context = container(model()).viewContext
    for (name, city, latitude) in [("Anne", "Bath", 51.38), ("Emma", "Highbury", 51.25)] {
      let person = NSEntityDescription.insertNewObject(forEntityName: "Person", into: context)
      person.setValue(name, forKey: "name")
      person.setValue(["city": city, "place": ["latitude": latitude, "longitude": -2]] as [String: Any], forKey: "home")
    }
    try context.save()
    context.reset()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
    request.predicate = NSPredicate(format: "home.place.latitude > %lf", 51.3)
    let found = try context.fetch(request)
    XCTAssertEqual(found.map { $0.value(forKey: "name") as? String }, ["Anne"])
    let home = try XCTUnwrap(found.first?.value(forKey: "home") as? [String: Any])
    XCTAssertEqual(home["city"] as? String, "Bath")
    XCTAssertEqual((home["place"] as? [String: Any])?["latitude"] as? Double, 51.38)
    request.predicate = nil
    request.sortDescriptors = [NSSortDescriptor(key: "home.city", ascending: false)]
    XCTAssertEqual(try context.fetch(request).map { $0.value(forKeyPath: "home.city") as? String }, ["Highbury", "Bath"])
  }

  func testUsedAndCopiedModelsKeepCompositeElements() throws {
    let used = container(model()).managedObjectModel
    for model in [used, try XCTUnwrap(used.copy() as? NSManagedObjectModel)] {
      let home = try XCTUnwrap(model.entitiesByName["Person"]?.attributesByName["home"] as? NSCompositeAttributeDescription)
      XCTAssertEqual(home.elements.map(\.name), ["city", "place"])
      XCTAssertEqual(home.attributeType, .compositeAttributeType)
      let place = try XCTUnwrap(home.elements.last as? NSCompositeAttributeDescription)
      XCTAssertEqual(place.elements.map(\.name), ["latitude", "longitude"])
    }
    let person = try XCTUnwrap(used.entitiesByName["Person"]?.copy() as? NSEntityDescription)
    let again = NSManagedObjectModel()
    again.entities = [person]
    XCTAssertEqual(again.entityVersionHashesByName, used.entityVersionHashesByName)
  }

  func testAddedElementsChangeTheVersionHash() throws {
    let (first, second) = (model(), model())
    let home = try XCTUnwrap(second.entitiesByName["Person"]?.attributesByName["home"] as? NSCompositeAttributeDescription)
    home.elements.append(attribute("street", .stringAttributeType))
    XCTAssertNotEqual(first.entityVersionHashesByName["Person"], second.entityVersionHashesByName["Person"])
    let person = NSEntityDescription.insertNewObject(forEntityName: "Person", into: container(second).viewContext)
    person.setValue(["street": "Gay Street"], forKey: "home")
    XCTAssertEqual(person.value(forKeyPath: "home.street") as? String, "Gay Street")
  }
}
