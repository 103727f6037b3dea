// The model of Museum.swift, made with the model builder.
import CipherData
import Foundation

enum Museum {
  /// Registers the transformer that the model names.
  static let transformers: Void = AttributeTransformers.register(ColourTransformer(), forName: "Colour")

  /// The model that the classes declare.
  static func declared() -> ManagedObjectModel {
    transformers
    return ManagedObjectModel(version: "museum-1", Statue.self, Room.self, Part.self) {
      Configuration("Public", entities: "Room", "Part")
      FetchTemplate("heavy", entity: "Thing", where: "weight > $LEAST", limit: 5)
    }
  }

  /// The same model from the builder.
  static func built() -> ManagedObjectModel {
    ManagedObjectModel(version: "museum-1") {
      thing
      Entity("Statue", class: "Statue", parent: "Thing") {
        Attribute("site", composite: "PostalAddress").required()
        Attribute("material", .string).required().initially("stone")
        Attribute("model", .binary).externalStorage()
        Relationship("parts", toMany: "Part", inverse: "statue").ordered().onDelete(.cascade).count(0...9)
      }
      Entity("Room", class: "Room") {
        Attribute("id", .uuid)
        Attribute("high", .integer64).derived("exhibits.@count", where: "rank > 2")
        Relationship("exhibits", toMany: "Thing", inverse: "room").onDelete(.deny).count(1...)
        FetchedProperty("everything", entity: "Thing").required()
      }
      Entity("Part", class: "Part") {
        Attribute("name", .string).required()
        Relationship("statue", to: "Statue", inverse: "parts")
        Relationship("whole", to: "Part", inverse: "pieces")
        Relationship("pieces", toMany: "Part", inverse: "whole").onDelete(.cascade)
        FetchedProperty("wholes", entity: "Statue", where: "ANY parts == $FETCH_SOURCE")
      }
      Composite("PostalAddress") {
        Attribute("street", .string).length(...200)
        Attribute("city", .string).required().length(1...80).renamed(from: "town")
        Attribute("fate", raw: Fate.self).required().initially(Fate.shown)
        Attribute("point", composite: "Point").hashModifier("p2")
        Attribute("binding", raw: Binding.self)
        Attribute("lines", transforming: [String].self).required().initially(Data("[]".utf8))
        Attribute("colour", transforming: Colour.self, by: "Colour")
        Attribute("default", .boolean).required().initially(false)
        Attribute("photo", .binary).externalStorage()
      }.userInfo("form", "letters")
      Composite("Point") {
        Attribute("latitude", .double).required().initially(0).range(-90...90)
        Attribute("longitude", .double).required().initially(0).range(-180...180)
      }
      Configuration("Public", entities: "Room", "Part")
      FetchTemplate("heavy", entity: "Thing", where: "weight > $LEAST", limit: 5)
    }
  }

  private static var thing: Entity {
    Entity("Thing", class: "Exhibit", abstract: true) {
      attributes
      Attribute("home", composite: "PostalAddress").renamed(from: "address")
      Attribute("binding", raw: Binding.self).required().initially(Binding.soft).userInfo("swiftValidation", "YES")
      Attribute("fate", raw: Fate.self).required()
      Attribute("caption", .string).userInfo("unit", "line").length(...90)
      Attribute("keywords", transforming: [String: Int].self).required().initially(Data("{}".utf8)).userInfo("swiftValidation", "YES")
      Attribute("colour", transforming: Colour.self, by: "Colour")
      Attribute("glow", transforming: Colour.self, by: "Colour").required().transient().initially(Data([1, 1, 1]))
      paint
      Attribute("scratch", .undefined).transient()
      Attribute("cached", .string).transient()
      Attribute("shout", .string).derived("uppercase:(title)")
      Attribute("found", composite: "Point").required()
      Relationship("room", to: "Room", inverse: "exhibits").required().renamed(from: "hall").hashModifier("r").userInfo("a", "b")
      Relationship("alike", toMany: "Thing", inverse: "alike").count(...5)
      Relationship("touched", to: "Thing").onDelete(.noAction).transient()
      FetchedProperty("peers", entity: "Thing", where: "rank == $FETCH_SOURCE.rank AND SELF != $FETCH_SOURCE").userInfo("order", "any")
      Index("byTitleAndMade", on: "title", "made")
      Index("heavy", on: "weight").where("weight > 1")
      Index("lately", .descending("made"), .ascending("title", collation: .caseAndDiacriticInsensitive)).where("rank > 2")
      Index("words", fullText: "title", "text")
      Index("lower", FetchIndexElement(expression: "lowercase:(title)"))
      Index("byCity", on: "home.city")
      Index("byTitle", on: "title")
      Unique("title", "made")
      Unique("room", "rank")
      Unique("code")
    }.renamed(from: "Object").hashModifier("second").userInfo("shelf", "top").spotlightName("title")
  }

  @EntityBuilder private static var attributes: [any EntityComponent] {
    Attribute("title", .string).required().length(1...80).userInfo("swiftValidation", "YES")
    Attribute("text", .string).length(...5000)
    Attribute("code", .string).matching("[A-Z]{2}[0-9]+").initially("AA0")
    Attribute("rank", .integer16).required().initially(3).range(0...9).userInfo("swiftValidation", "YES")
    Attribute("level", .integer32).required().initially(0).range((-5)...)
    Attribute("total", .integer64).required().initially(0).range(...1_000_000)
    Attribute("number", .integer64).userInfo("swiftValidation", "YES")
    Attribute("price", .decimal).required().initially(0).range(0...)
    Attribute("weight", .double).required().initially(1.5).range(0.5...2.5)
    Attribute("share", .float).required().initially(0.25).range(...1)
    Attribute("isShown", .boolean).required().initially(true).renamed(from: "shown")
    Attribute("made", .date).range(Date(timeIntervalSinceReferenceDate: 0)...).preservedOnDeletion()
    Attribute("scan", .binary).externalStorage().allowsCloudEncryption()
    Attribute("token", .uuid).hashModifier("b")
    Attribute("link", .uri).indexedBySpotlight()
  }

  /// A transformable attribute without a class, which the builder does not support.
  private static var paint: PropertyDescription {
    var attribute = AttributeDescription(name: "paint", type: .transformable, isOptional: true)
    attribute.valueTransformerName = "Colour"
    return .attribute(attribute)
  }
}
