-- CreateTable
CREATE TABLE "payments" (
    "id" SERIAL NOT NULL,
    "charge_id" TEXT NOT NULL,
    "customer" TEXT NOT NULL,
    "cents" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "payments_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "payments_charge_id_key" ON "payments"("charge_id");
