export * from "@pawl/pawl";
